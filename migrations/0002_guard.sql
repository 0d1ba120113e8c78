-- The guard: the table of states and transitions (docs/architecture.md, "The life of a partition"), enforced here so that
-- a bug in a service, or a hand on psql, gets an error. common/lifecycle has the same table in C; a test compares them.

-- The name of a state, or null where the combination is none.
create function granary.partition_state(active boolean, lock granary.lock_kind, reason granary.reason) returns text
    language sql immutable as $$
    select case
        when active and reason is null then
            case when lock is null then 'active' when lock = 'merge' then 'merging' when lock = 'alter' then 'altering'
                 when lock = 'manual' then 'pinned' end
        when active then null
        when reason is null then
            case lock when 'write' then 'staged_write' when 'alter' then 'staged_alter' end
        when lock is null then reason::text || case when reason = 'abandoned' then '' else '_inactive' end
        when lock = 'reap' then reason::text || '_reaping'
        when lock = 'merge' and reason = 'merge' then 'retired'
        when lock = 'manual' and reason = 'park' then 'parked'
    end
$$;

-- May a partition go from one state to another? Staying is not a transition: the guard asks only about changes.
-- A claim taken over (reaping to the same reaping under another lock) is one.
create function granary.partition_transition_allowed(
    from_active boolean, from_lock granary.lock_kind, from_reason granary.reason,
    to_active boolean, to_lock granary.lock_kind, to_reason granary.reason) returns boolean
    language plpgsql immutable as $$
declare
    allowed boolean := false;
begin
    if from_active and from_reason is null then
        if to_active then -- reserve and release; only a free partition can be reserved
            allowed := to_reason is null
                   and ((from_lock is null and to_lock in ('merge', 'alter', 'manual'))
                     or (to_lock is null and from_lock in ('merge', 'alter', 'manual')));
        else
            allowed := (from_lock is null and to_lock is null and to_reason in ('decay', 'drop'))
                    or ((from_lock is null or from_lock = 'manual') and to_lock = 'manual' and to_reason = 'park')
                    or (from_lock = 'merge' and to_lock = 'merge' and to_reason = 'merge')
                    or (from_lock = 'alter' and to_lock is null and to_reason = 'alter');
        end if;
    elsif from_active then
        allowed := false;
    elsif from_reason is null then -- staged
        allowed := from_lock in ('write', 'alter') and to_lock is null
               and ((to_active and to_reason is null) or (not to_active and to_reason = 'abandoned'));
    elsif from_lock is null then
        allowed := (not to_active and to_lock = 'reap' and to_reason = from_reason)
                or (to_active and to_lock is null and to_reason is null and from_reason in ('decay', 'drop', 'park'));
    elsif from_lock = 'reap' then
        allowed := not to_active and to_lock = 'reap' and to_reason = from_reason;
    elsif from_lock = 'merge' then
        allowed := from_reason = 'merge' and not to_active and to_lock is null and to_reason = 'merge';
    elsif from_lock = 'manual' then
        allowed := from_reason = 'park' and to_lock is null
               and ((to_active and to_reason is null) or (not to_active and to_reason = 'park'));
    end if;
    return coalesce(allowed, false); -- a comparison with an absent lock or reason is null: the guard must hear "no"
end $$;

create function granary.partitions_guard() returns trigger
    language plpgsql as $$
begin
    if tg_op = 'UPDATE' then
        -- what a partition is never changes; what was measured is written once, on publishing
        if new.partition_id <> old.partition_id or new.table_id <> old.table_id or new.path <> old.path
           or new.storage_id <> old.storage_id or new.origin <> old.origin or new.created_at <> old.created_at
           or new.schema_version <> old.schema_version or new.merge_level <> old.merge_level
           or new.attempt_id is distinct from old.attempt_id then
            raise exception 'partition % cannot change what it is', old.partition_id
                using errcode = 'GR001', hint = 'only state, lock and, while staged, measurements may change';
        end if;
        if (new.sha256 is distinct from old.sha256 or new.row_count <> old.row_count
            or new.data_bytes <> old.data_bytes or new.memory_bytes <> old.memory_bytes
            or new.min_timestamp <> old.min_timestamp or new.max_timestamp <> old.max_timestamp
            or new.etag is distinct from old.etag)
           and not (not old.active and old.lock_kind in ('write', 'alter') and old.deactivation_reason is null) then
            raise exception 'partition % is published: its measurements cannot change', old.partition_id
                using errcode = 'GR001';
        end if;
        if new.active <> old.active or new.lock_id is distinct from old.lock_id
           or new.deactivation_reason is distinct from old.deactivation_reason then
            if not granary.partition_transition_allowed(old.active, old.lock_kind, old.deactivation_reason,
                                                        new.active, new.lock_kind, new.deactivation_reason)
               or (old.lock_kind = 'merge' and new.lock_kind = 'merge' and new.lock_id <> old.lock_id) then
                raise exception 'partition % cannot go from (%, %, %) to (%, %, %)', old.partition_id,
                    old.active, coalesce(old.lock_kind::text, '-'), coalesce(old.deactivation_reason::text, '-'),
                    new.active, coalesce(new.lock_kind::text, '-'), coalesce(new.deactivation_reason::text, '-')
                    using errcode = 'GR001', hint = 'active, lock kind and reason follow docs/architecture.md, section 3';
            end if;
            if old.lock_kind = 'reap' then -- by itself: a condition with a query in it runs one for every row
                if not exists (select from granary.locks l
                               where l.lock_id = old.lock_id and l.expires_at <= clock_timestamp()) then
                    raise exception 'partition % is claimed by a reaper until its claim expires', old.partition_id
                        using errcode = 'GR001';
                end if;
            end if;
            if new.active then
                new.deactivated_at := null;
                new.deactivated_by := null;
            elsif old.active or old.deactivation_reason is null then
                new.deactivated_at := clock_timestamp();
            else
                new.deactivated_at := old.deactivated_at;
            end if;
        else
            new.deactivated_at := old.deactivated_at;
        end if;
        new.modified_at := clock_timestamp();
        new.version := old.version + 1;
        return new;
    elsif tg_op = 'INSERT' then
        if new.active or new.deactivation_reason is not null or new.lock_kind is null
           or new.lock_kind not in ('write', 'alter') or new.sha256 is not null then
            raise exception 'partition % must begin staged: inactive, locked for writing, unpublished', new.partition_id
                using errcode = 'GR001';
        end if;
        new.created_at := clock_timestamp();
        new.modified_at := new.created_at;
        new.deactivated_at := null;
        new.deactivated_by := null;
        new.version := 1;
        return new;
    end if;
    if old.active or old.lock_kind is distinct from 'reap' then
        raise exception 'partition % cannot be deleted: no reaper has claimed it', old.partition_id
            using errcode = 'GR001';
    end if;
    return old;
end $$;

create trigger partitions_guard before insert or update or delete on granary.partitions
    for each row execute function granary.partitions_guard();

create function granary.partitions_never_truncated() returns trigger language plpgsql as $$
begin
    raise exception 'partitions cannot be truncated' using errcode = 'GR001',
        hint = 'rows leave one by one, after their objects, by way of the reaper';
end $$;
create trigger partitions_never_truncated before truncate on granary.partitions
    execute function granary.partitions_never_truncated();

-- A lock's kind and token never change; a claim is never shortened into somebody else's.
create function granary.locks_guard() returns trigger language plpgsql as $$
begin
    if new.lock_id <> old.lock_id or new.kind <> old.kind or new.acquired_at <> old.acquired_at
       or new.attempt_id is distinct from old.attempt_id then
        raise exception 'lock % cannot change what it is', old.lock_id using errcode = 'GR001';
    end if;
    return new;
end $$;
create trigger locks_guard before update on granary.locks for each row execute function granary.locks_guard();

-- The one call a rewriter may make: start or renew the lease of an attempt, with progress. Answers the new end of the
-- lease; an attempt that is over, or whose lease has run out, is refused (GR002) and the rewriter stops.
create function granary.attempt_renew(p_attempt uuid, p_token bigint, p_worker text, p_rows_done bigint,
                                      p_lease interval) returns timestamptz
    language plpgsql security definer set search_path = pg_catalog, granary as $$
declare
    a granary.attempts;
    until timestamptz;
begin
    if p_lease not between interval '1 second' and interval '1 hour' then
        raise exception 'expected a lease from 1 s to 1 h but found %', p_lease using errcode = 'GR002';
    end if;
    select * into a from granary.attempts where attempt_id = p_attempt for update;
    if not found or a.token <> p_token or a.state not in ('planned', 'running')
       or (a.state = 'running' and a.worker <> p_worker) then
        raise exception 'attempt % is not this worker''s to renew', p_attempt using errcode = 'GR002';
    end if;
    until := clock_timestamp() + p_lease;
    update granary.locks set expires_at = greatest(expires_at, until)
    where lock_id in (a.lock_id, a.output_lock_id) and expires_at > clock_timestamp();
    if (select count(*) from granary.locks
        where lock_id in (a.lock_id, a.output_lock_id) and expires_at >= until) <> 2 then
        raise exception 'the lease of attempt % has run out', p_attempt using errcode = 'GR002';
    end if;
    update granary.attempts
    set state = 'running', worker = p_worker, rows_done = greatest(rows_done, p_rows_done),
        started_at = coalesce(started_at, clock_timestamp())
    where attempt_id = p_attempt;
    return until;
end $$;

-- A job's own run, for everyone's status page: the one thing that even a read-only job may leave behind.
create function granary.job_run_record(p_job text, p_instance text, p_started timestamptz, p_exit int, p_counts jsonb,
                                       p_error text) returns void
    language sql security definer set search_path = pg_catalog, granary as $$
    insert into granary.job_runs (job, instance, started_at, exit_code, counts, error)
    values (left(p_job, 64), left(p_instance, 256), p_started, p_exit, p_counts, left(p_error, 4096))
$$;
