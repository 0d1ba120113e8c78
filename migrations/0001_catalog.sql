-- The catalog: what there is, who holds it, and why it is where it is.
-- The guard over partitions comes in 0002, the roles of the services in 0003.

create type granary.lock_kind as enum ('write', 'merge', 'alter', 'manual', 'reap');
create type granary.reason as enum ('abandoned', 'decay', 'drop', 'park', 'alter', 'merge');
create type granary.origin as enum ('intake', 'load', 'merge', 'alter');

-- One row: which deployment this catalog belongs to, its defaults of table settings, and the brake on all deleting.
create table granary.deployment (
    singleton              boolean primary key default true check (singleton),
    deployment_id          uuid not null default gen_random_uuid(),
    created_at             timestamptz not null default clock_timestamp(),
    settings               jsonb not null default '{}' check (jsonb_typeof(settings) = 'object'),
    deleting_paused_at     timestamptz,
    deleting_paused_by     text,
    deleting_paused_reason text,
    check ((deleting_paused_at is null) = (deleting_paused_by is null))
);
insert into granary.deployment default values;

create table granary.tables (
    table_id               uuid primary key,
    project                text not null,
    name                   text not null,
    kind                   text not null check (kind in ('user', 'rejects')),
    parent_id              uuid references granary.tables, -- of a rejects table: whose rejects
    schema_version         int not null check (schema_version >= 1),
    settings               jsonb not null default '{}' check (jsonb_typeof(settings) = 'object'),
    -- A shortened retention waits: until retention_effective_at the former age.max_age still counts
    -- (microseconds; bigint max is never).
    retention_previous_us  bigint,
    retention_effective_at timestamptz,
    created_at             timestamptz not null default clock_timestamp(),
    created_by             text not null,
    dropped_at             timestamptz, -- the tombstone
    dropped_by             text,
    version                bigint not null default 1,
    check ((kind = 'rejects') = (parent_id is not null)),
    check ((dropped_at is null) = (dropped_by is null)),
    check ((retention_previous_us is null) = (retention_effective_at is null))
);
create unique index tables_name on granary.tables (project, name) where dropped_at is null;
create unique index tables_rejects on granary.tables (parent_id) where parent_id is not null;

create table granary.table_schemas (
    table_id   uuid not null references granary.tables,
    version    int not null check (version >= 1),
    definition jsonb not null,
    created_at timestamptz not null default clock_timestamp(),
    primary key (table_id, version)
);

-- A partition is locked when its lock_id is set. The token grows with every lock: a late holder is known by it.
create table granary.locks (
    lock_id     uuid primary key,
    kind        granary.lock_kind not null,
    owner       text not null,
    reason      text not null default '',
    token       bigint not null generated always as identity,
    attempt_id  uuid,
    acquired_at timestamptz not null default clock_timestamp(),
    expires_at  timestamptz, -- null: never
    unique (lock_id, kind),
    check (kind in ('manual', 'alter') or expires_at is not null)
);
create index locks_expiry on granary.locks (expires_at) where expires_at is not null;
create index locks_attempt on granary.locks (attempt_id) where attempt_id is not null;

create table granary.partitions (
    partition_id        uuid primary key,
    table_id            uuid not null references granary.tables,
    schema_version      int not null,
    min_timestamp       timestamptz not null,
    max_timestamp       timestamptz not null,
    storage_id          int not null default 1,
    path                text collate "C" not null unique,
    row_count           bigint not null check (row_count >= 0),
    data_bytes          bigint not null check (data_bytes >= 0),   -- of the object; 0 until published
    memory_bytes        bigint not null check (memory_bytes >= 0), -- of the values
    sha256              bytea check (length(sha256) = 32),         -- null until published
    etag                text,                                      -- null until published
    active              boolean not null,
    lock_id             uuid,
    lock_kind           granary.lock_kind,
    origin              granary.origin not null,
    attempt_id          uuid,
    merge_level         int not null default 0 check (merge_level >= 0),
    created_at          timestamptz not null default clock_timestamp(),
    modified_at         timestamptz not null default clock_timestamp(),
    deactivated_at      timestamptz, -- the reap clock, stamped by the guard
    deactivation_reason granary.reason,
    deactivated_by      text,
    version             bigint not null default 1,
    foreign key (lock_id, lock_kind) references granary.locks (lock_id, kind),
    check ((lock_id is null) = (lock_kind is null)),
    check (min_timestamp <= max_timestamp),
    check (not active or sha256 is not null)
);
-- The hot questions: what is live in a time range; what may decay; what may be reaped; what is locked.
create index partitions_live on granary.partitions (table_id, min_timestamp, max_timestamp) where active;
create index partitions_decayable on granary.partitions (table_id, max_timestamp) where active and lock_id is null;
create index partitions_inactive on granary.partitions (table_id, deactivated_at, partition_id) where not active;
create index partitions_locked on granary.partitions (lock_id) where lock_id is not null;

-- What else belongs to a partition: deleting the partition deletes all of them.
create table granary.partition_objects (
    partition_id uuid not null references granary.partitions on delete cascade,
    path         text collate "C" not null unique,
    kind         text not null,
    data_bytes   bigint not null check (data_bytes >= 0),
    primary key (partition_id, path)
);

-- Bounds per column, so that scans and alters can skip. Values are the type's plain bytes.
create table granary.partition_columns (
    partition_id uuid not null references granary.partitions on delete cascade,
    column_id    int not null,
    min_value    bytea,
    max_value    bytea,
    null_count   bigint not null,
    primary key (partition_id, column_id)
);

-- One try at a rewrite. Its lease is the expiry of its locks.
create table granary.attempts (
    attempt_id   uuid primary key,
    kind         text not null check (kind in ('merge', 'alter')),
    table_id     uuid not null references granary.tables,
    target       text not null, -- merge target, or alter job
    pool         text not null,
    epoch        bigint not null, -- of the leader that planned it
    lock_id      uuid not null,   -- on the inputs
    token        bigint not null, -- of that lock
    output_id    uuid not null,
    output_lock_id uuid not null, -- on the staged output
    task         text not null,   -- the rewrite event as published
    state        text not null default 'planned' check (state in ('planned', 'running', 'done', 'abandoned')),
    worker       text,
    rows_done    bigint not null default 0,
    rows_total   bigint not null,
    bytes_total  bigint not null,
    created_at   timestamptz not null default clock_timestamp(),
    started_at   timestamptz,
    finished_at  timestamptz,
    error        text
);
create index attempts_open on granary.attempts (kind, created_at) where state in ('planned', 'running');
create index attempts_finished on granary.attempts (finished_at) where finished_at is not null;

create table granary.lineage (
    child_id   uuid not null,
    parent_id  uuid not null,
    attempt_id uuid not null,
    created_at timestamptz not null default clock_timestamp(),
    primary key (child_id, parent_id)
);
create index lineage_parent on granary.lineage (parent_id);

-- Partitions that merging keeps failing on: after max_tries they are set aside, and merging goes on around them.
create table granary.merge_failures (
    partition_id  uuid primary key references granary.partitions on delete cascade,
    tries         int not null,
    last_error    text not null,
    last_at       timestamptz not null default clock_timestamp(),
    set_aside_at  timestamptz
);

-- Deletions that the store refused, as far as they are still being tried.
create table granary.reap_failures (
    partition_id uuid primary key references granary.partitions on delete cascade,
    tries        int not null,
    last_error   text not null,
    last_at      timestamptz not null default clock_timestamp()
);

-- Ids of committed batches: a second commit of one id must fail. Kept by day and pruned by dropping days.
-- Near midnight a commit writes its ids under both days (granary.intake_days), so that two commits on either side of it
-- meet in one unique index; otherwise a look-up over the days kept finds the earlier one.
create table granary.intake_batches (
    day          date not null,
    batch_id     uuid not null,
    table_id     uuid not null,
    keyed        boolean not null,
    body_sha256  bytea,
    row_count    bigint not null,
    reject_count bigint not null,
    committed_at timestamptz not null default clock_timestamp(),
    primary key (batch_id, day)
) partition by range (day);
create table granary.intake_batches_default partition of granary.intake_batches default;

-- The days under which a commit of this transaction files its ids: today, and the neighbour when it is less than an
-- hour away (no transaction of the writer lives that long).
create function granary.intake_days() returns setof date
    language sql stable as $$
    select distinct (t at time zone 'UTC')::date
    from (values (transaction_timestamp()), (transaction_timestamp() - interval '1 hour'),
                 (transaction_timestamp() + interval '1 hour')) v(t)
$$;

-- Makes the days to come and drops those over `keep`.
create function granary.intake_batches_maintain(keep interval) returns int
    language plpgsql security definer set search_path = pg_catalog, granary as $$
declare
    today date := (clock_timestamp() at time zone 'UTC')::date;
    wanted date;
    old record;
    dropped int := 0;
begin
    perform pg_advisory_xact_lock(hashtextextended('granary.intake_batches_maintain', 0));
    for i in -1..7 loop
        wanted := today + i;
        if to_regclass(format('granary.intake_batches_%s', to_char(wanted, 'YYYYMMDD'))) is null
           and not exists (select from granary.intake_batches_default d where d.day = wanted) then
            execute format('create table granary.%I partition of granary.intake_batches for values from (%L) to (%L)',
                           'intake_batches_' || to_char(wanted, 'YYYYMMDD'), wanted, wanted + 1);
        end if;
    end loop;
    for old in
        select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'granary.intake_batches'::regclass and c.relname ~ '^intake_batches_[0-9]{8}$'
          and to_date(right(c.relname, 8), 'YYYYMMDD') < today - ceil(extract(epoch from keep) / 86400)::int - 1
    loop
        execute format('drop table granary.%I', old.relname);
        dropped := dropped + 1;
    end loop;
    delete from granary.intake_batches_default where day < today - ceil(extract(epoch from keep) / 86400)::int - 1;
    return dropped;
end $$;
select granary.intake_batches_maintain(interval '2 days');

-- Legal hold over a table, a time range of it, or one partition. Nothing under it decays or is reaped.
create table granary.holds (
    hold_id       uuid primary key default gen_random_uuid(),
    table_id      uuid not null references granary.tables,
    partition_id  uuid,
    min_timestamp timestamptz,
    max_timestamp timestamptz,
    reason        text not null check (reason <> ''),
    placed_at     timestamptz not null default clock_timestamp(),
    placed_by     text not null,
    released_at   timestamptz,
    released_by   text,
    check ((min_timestamp is null) = (max_timestamp is null)),
    check (min_timestamp <= max_timestamp),
    check (partition_id is null or min_timestamp is null),
    check ((released_at is null) = (released_by is null))
);
create index holds_standing on granary.holds (table_id) where released_at is null;

-- The one predicate for holds: every deleter and every preview asks this.
create function granary.is_held(p_table uuid, p_partition uuid, p_min timestamptz, p_max timestamptz) returns boolean
    language sql stable as $$
    select exists (
        select from granary.holds h
        where h.table_id = p_table and h.released_at is null
          and (h.partition_id is null or h.partition_id = p_partition)
          and (h.min_timestamp is null or (h.min_timestamp <= p_max and h.max_timestamp >= p_min)))
$$;

-- What would be done, looked at before it is done.
create table granary.plans (
    plan_id     uuid primary key,
    kind        text not null check (kind in ('retention')),
    table_id    uuid not null references granary.tables,
    parameters  jsonb not null,
    summary     jsonb not null,
    created_at  timestamptz not null default clock_timestamp(),
    created_by  text not null,
    expires_at  timestamptz not null,
    applied_at  timestamptz,
    applied_by  text,
    outcome     jsonb
);
create table granary.plan_items (
    plan_id      uuid not null references granary.plans on delete cascade,
    partition_id uuid not null,
    version      bigint not null, -- of the partition when it was looked at
    primary key (plan_id, partition_id)
);

-- The proof of a deletion.
create table granary.receipts (
    receipt_id          bigint generated always as identity primary key,
    partition_id        uuid not null,
    table_id            uuid not null,
    path                text not null,
    row_count           bigint not null,
    data_bytes          bigint not null,
    min_timestamp       timestamptz not null,
    max_timestamp       timestamptz not null,
    sha256              bytea,
    deactivation_reason granary.reason not null,
    deactivated_at      timestamptz not null,
    deactivated_by      text,
    deleted_at          timestamptz not null default clock_timestamp(),
    deleted_by          text not null,
    claim_token         bigint not null,
    answers             jsonb not null -- per object: deleted or absent
);
create index receipts_partition on granary.receipts (partition_id);
create index receipts_deleted on granary.receipts (deleted_at);
create index receipts_breaker on granary.receipts (table_id, deactivated_at) where deactivation_reason = 'decay';

create table granary.audit_log (
    audit_id     bigint generated always as identity primary key,
    at           timestamptz not null default clock_timestamp(),
    actor        text not null,
    action       text not null,
    table_id     uuid,
    partition_id uuid,
    details      jsonb not null default '{}'
);
create index audit_log_at on granary.audit_log (at);
create index audit_log_partition on granary.audit_log (partition_id) where partition_id is not null;

create table granary.job_runs (
    run_id      bigint generated always as identity primary key,
    job         text not null,
    instance    text not null,
    started_at  timestamptz not null,
    finished_at timestamptz not null default clock_timestamp(),
    exit_code   int not null,
    counts      jsonb not null default '{}',
    error       text
);
create index job_runs_latest on granary.job_runs (job, finished_at desc);

-- Who leads, and the epoch that fences the commits of former leaders.
create table granary.leaders (
    name      text primary key,
    epoch     bigint not null,
    holder    text not null,
    since     timestamptz not null default clock_timestamp()
);

-- The key of a table's fence: publish, commits, decay and claims take it shared, holds and drops take it alone.
create function granary.table_fence(p_table uuid) returns bigint
    language sql immutable as $$ select hashtextextended(p_table::text, 7283) $$;
