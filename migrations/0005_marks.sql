-- The high-water mark (safety rule 5): how a catalog that was restored or cloned is told from the one that the store knows.
-- The catalog keeps the number and nonce of the last mark of each storage. A deleter raises it here first, and then creates
-- an object of that number with that nonce in the store. A restored catalog finds higher numbers in the store than its own;
-- of two catalogs that share a store, one finds its number taken by another nonce. Either way nothing more is deleted until
-- somebody has looked (granary recover).

create table granary.storage_marks (
    storage_id  int primary key references granary.storages,
    number      bigint not null default 0 check (number >= 0), -- 0: none yet
    nonce       uuid not null default gen_random_uuid(),
    advanced_at timestamptz not null default '-infinity'
);
insert into granary.storage_marks (storage_id) select storage_id from granary.storages;

create function granary.storages_mark() returns trigger
    language plpgsql security definer set search_path = pg_catalog, granary as $$
begin
    insert into granary.storage_marks (storage_id) values (new.storage_id);
    return null;
end $$;
create trigger storages_mark after insert on granary.storages for each row execute function granary.storages_mark();

-- Raises the mark, unless that was done within p_every; answers the one that counts. One of many deleters raises it, and all
-- of them may write its object: they write the same.
create function granary.mark_advance(p_storage int, p_every interval, out number bigint, out nonce uuid)
    language plpgsql security definer set search_path = pg_catalog, granary as $$
begin
    update granary.storage_marks m set number = m.number + 1, nonce = gen_random_uuid(), advanced_at = clock_timestamp()
    where m.storage_id = p_storage and m.advanced_at <= clock_timestamp() - p_every;
    select m.number, m.nonce into strict mark_advance.number, mark_advance.nonce
    from granary.storage_marks m where m.storage_id = p_storage;
end $$;

-- Raises the mark above p_number, for a catalog that somebody has decided is the right one.
create function granary.mark_adopt(p_storage int, p_number bigint, out number bigint, out nonce uuid)
    language sql security definer set search_path = pg_catalog, granary as $$
    update granary.storage_marks m
    set number = greatest(m.number, p_number) + 1, nonce = gen_random_uuid(), advanced_at = clock_timestamp()
    where m.storage_id = p_storage returning m.number, m.nonce
$$;

revoke all on function granary.storages_mark(), granary.mark_advance(int, interval), granary.mark_adopt(int, bigint)
    from public;
grant select on granary.storage_marks to granary_reaper, granary_partition_cleaner, granary_admin;
grant execute on function granary.mark_advance(int, interval) to granary_reaper, granary_partition_cleaner;
grant execute on function granary.mark_adopt(int, bigint), granary.storages_mark() to granary_admin;
