-- The partition cleaner compares the store's listing with the catalog. What it finds must outlive the run that found it:
-- an orphan is condemned when it is first seen and may have to wait in quarantine, a missing object must be told by
-- "granary explain", and an interrupted run goes on where it was. Nothing here refers to rows that it could keep alive.

-- One comparison of one storage. `position` is the last key that both sides have passed.
create table granary.cleaner_runs (
    run_id      bigint generated always as identity primary key,
    storage_id  int not null,
    instance    text not null,
    started_at  timestamptz not null default clock_timestamp(),
    saved_at    timestamptz not null default clock_timestamp(),
    position    text collate "C" not null default '',
    counts      jsonb not null default '{}' check (jsonb_typeof(counts) = 'object'),
    finished_at timestamptz,
    verdict     text, -- why nothing may be deleted; null: it may
    check (verdict is null or finished_at is not null)
);
create index cleaner_runs_latest on granary.cleaner_runs (storage_id, run_id desc);

-- Objects that no row names, as the last run saw them. first_seen_at is the clock of the quarantine.
create table granary.orphans (
    storage_id    int not null,
    path          text collate "C" not null,
    data_bytes    bigint not null check (data_bytes >= 0),
    modified_at   timestamptz not null, -- by the store's clock
    owner         text not null,        -- a guess at where it came from
    table_id      uuid,
    partition_id  uuid,
    first_seen_at timestamptz not null default clock_timestamp(),
    run_id        bigint not null,      -- the last that saw it
    error         text,                 -- why the store did not delete it
    primary key (storage_id, path)
);
create index orphans_run on granary.orphans (storage_id, run_id, path);

-- Rows whose objects are gone, confirmed by asking for the object itself. No row is ever deleted for it.
create table granary.missing_objects (
    partition_id uuid not null references granary.partitions on delete cascade,
    path         text collate "C" not null,
    storage_id   int not null,
    since        timestamptz not null default clock_timestamp(),
    run_id       bigint not null,
    primary key (partition_id, path)
);
create index missing_objects_run on granary.missing_objects (storage_id, run_id);

-- The proof of an orphan's deletion. It is there before the object is asked to go: without an answer, whoever asked was
-- killed in between.
create table granary.orphan_receipts (
    receipt_id   bigint generated always as identity primary key,
    deletion_id  uuid not null, -- of the batch
    storage_id   int not null,
    path         text collate "C" not null,
    data_bytes   bigint not null,
    modified_at  timestamptz not null,
    owner        text not null,
    table_id     uuid,
    partition_id uuid,
    plan_id      uuid, -- null: the cleaner's own schedule
    deleted_at   timestamptz not null default clock_timestamp(),
    deleted_by   text not null,
    answer       text
);
create index orphan_receipts_batch on granary.orphan_receipts (deletion_id, path);
create index orphan_receipts_deleted on granary.orphan_receipts (deleted_at);
create index orphan_receipts_partition on granary.orphan_receipts (partition_id) where partition_id is not null;

-- A plan may name orphans, of one table or of all.
alter table granary.plans drop constraint plans_kind_check;
alter table granary.plans add constraint plans_kind_check check (kind in ('retention', 'orphans'));
alter table granary.plans alter column table_id drop not null;
alter table granary.plans add constraint plans_table check (kind <> 'retention' or table_id is not null);
create table granary.plan_orphans (
    plan_id      uuid not null references granary.plans on delete cascade,
    storage_id   int not null,
    path         text collate "C" not null,
    data_bytes   bigint not null,
    modified_at  timestamptz not null,
    owner        text not null,
    table_id     uuid,
    partition_id uuid,
    outcome      text, -- of applying: deleted, absent, or why it was kept
    primary key (plan_id, storage_id, path)
);

-- The cleaner asks everything that may know an object, keeps its own book, and has no right to touch a partition's row.
grant select on granary.receipts, granary.attempts, granary.lineage to granary_partition_cleaner;
grant select, insert on granary.cleaner_runs to granary_partition_cleaner;
grant update (instance, saved_at, position, counts, finished_at, verdict) on granary.cleaner_runs
    to granary_partition_cleaner;
grant select, insert, delete, update (data_bytes, modified_at, owner, run_id, error) on granary.orphans
    to granary_partition_cleaner;
grant select, insert, delete, update (run_id) on granary.missing_objects to granary_partition_cleaner;
grant select, insert, update (answer) on granary.orphan_receipts to granary_partition_cleaner;

-- admin: plans of orphans are made and applied on an operator's word.
grant select on granary.cleaner_runs, granary.orphans, granary.missing_objects, granary.orphan_receipts,
    granary.plan_orphans to granary_admin;
grant insert, update (outcome) on granary.plan_orphans to granary_admin;
grant update (summary, expires_at) on granary.plans to granary_admin;
grant delete, update (error) on granary.orphans to granary_admin;
grant insert, update (answer) on granary.orphan_receipts to granary_admin;
grant execute on function granary.mark_advance(int, interval) to granary_admin;

-- merge-cleanup: prunes what grows.
grant select, delete on granary.cleaner_runs, granary.orphan_receipts to granary_merge_cleanup;
