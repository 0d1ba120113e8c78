-- One role per service, with just the rights that its line in docs/architecture.md (section 2) needs. Roles belong to the
-- cluster and may be there already; without the right to create roles, create them beforehand. They get no password here.
do $$
declare
    wanted text;
begin
    foreach wanted in array array['granary_intake', 'granary_merge_controller', 'granary_rewriter', 'granary_alter',
        'granary_decay', 'granary_merge_cleanup', 'granary_reap_collection', 'granary_reaper',
        'granary_partition_cleaner', 'granary_admin'] loop
        if not exists (select from pg_roles where rolname = wanted) then
            begin
                execute format('create role %I login', wanted);
            exception when duplicate_object or unique_violation then
                null; -- another database of this cluster was migrated at the same moment
            end;
        end if;
    end loop;
end $$;

revoke all on schema granary from public;
revoke all on all functions in schema granary from public;
grant usage on schema granary to granary_intake, granary_merge_controller, granary_rewriter, granary_alter, granary_decay,
    granary_merge_cleanup, granary_reap_collection, granary_reaper, granary_partition_cleaner, granary_admin;

-- Every service asks for the version of the catalog before it starts.
grant select on granary.schema_migrations to granary_intake, granary_merge_controller, granary_rewriter, granary_alter,
    granary_decay, granary_merge_cleanup, granary_reap_collection, granary_reaper, granary_partition_cleaner, granary_admin;

-- Pure helpers and what everyone reads.
grant execute on function granary.table_fence(uuid), granary.partition_state(boolean, granary.lock_kind, granary.reason),
    granary.is_held(uuid, uuid, timestamptz, timestamptz), granary.partitions_guard(), granary.locks_guard(),
    granary.partitions_never_truncated(),
    granary.partition_transition_allowed(boolean, granary.lock_kind, granary.reason, boolean, granary.lock_kind, granary.reason)
    to granary_intake, granary_merge_controller, granary_alter, granary_decay, granary_merge_cleanup,
       granary_reap_collection, granary_reaper, granary_partition_cleaner, granary_admin;
grant select on granary.deployment, granary.tables, granary.table_schemas, granary.partitions, granary.locks, granary.holds
    to granary_intake, granary_merge_controller, granary_alter, granary_decay, granary_merge_cleanup,
       granary_reap_collection, granary_reaper, granary_partition_cleaner, granary_admin;
grant execute on function granary.job_run_record(text, text, timestamptz, int, jsonb, text)
    to granary_decay, granary_merge_cleanup, granary_reap_collection, granary_partition_cleaner;

-- intake: stages and publishes partitions with their batch ids; gives its own staged rows up.
grant insert on granary.partitions, granary.partition_columns, granary.partition_objects, granary.locks,
    granary.intake_batches to granary_intake;
grant select on granary.intake_batches to granary_intake;
grant update (active, lock_id, lock_kind, row_count, data_bytes, memory_bytes, sha256, etag, min_timestamp, max_timestamp,
    deactivation_reason, deactivated_by) on granary.partitions to granary_intake;
grant update (expires_at), delete on granary.locks to granary_intake;
grant execute on function granary.intake_days() to granary_intake, granary_admin;

-- merge-controller: locks inputs, stages outputs, commits the swap, gives attempts up.
grant insert on granary.partitions, granary.partition_columns, granary.locks, granary.attempts, granary.lineage,
    granary.merge_failures, granary.leaders to granary_merge_controller;
grant select on granary.attempts, granary.lineage, granary.merge_failures, granary.leaders to granary_merge_controller;
grant update (active, lock_id, lock_kind, row_count, data_bytes, memory_bytes, sha256, etag, min_timestamp, max_timestamp,
    deactivation_reason, deactivated_by) on granary.partitions to granary_merge_controller;
grant update (expires_at), delete on granary.locks to granary_merge_controller;
grant update on granary.attempts, granary.merge_failures, granary.leaders to granary_merge_controller;

-- rewriter: renews the lease of its attempt; nothing else.
grant execute on function granary.attempt_renew(uuid, bigint, text, bigint, interval) to granary_rewriter;

-- decay: marks old partitions inactive.
grant select on granary.receipts, granary.plans, granary.plan_items to granary_decay;
grant update (active, deactivation_reason, deactivated_by) on granary.partitions to granary_decay;

-- merge-cleanup: unlocks merged partitions, sweeps expired locks, prunes what grows.
grant select on granary.attempts, granary.lineage, granary.merge_failures, granary.intake_batches to granary_merge_cleanup;
grant update (lock_id, lock_kind, deactivation_reason, deactivated_by) on granary.partitions to granary_merge_cleanup;
grant update (state, finished_at, error) on granary.attempts to granary_merge_cleanup;
grant update (expires_at) on granary.locks to granary_merge_cleanup; -- for its row locks
grant delete on granary.locks, granary.attempts, granary.lineage, granary.receipts, granary.audit_log, granary.job_runs,
    granary.plans to granary_merge_cleanup;
grant select on granary.receipts, granary.audit_log, granary.job_runs, granary.plans to granary_merge_cleanup;
grant execute on function granary.intake_batches_maintain(interval) to granary_merge_cleanup;

-- reap-collection: reads.
-- (nothing beyond the common grants)

-- reaper: claims, deletes rows whose objects are gone, writes receipts.
grant insert, update (expires_at), delete on granary.locks to granary_reaper;
grant update (lock_id, lock_kind) on granary.partitions to granary_reaper;
grant delete on granary.partitions, granary.reap_failures to granary_reaper;
grant select on granary.partition_objects, granary.reap_failures, granary.receipts to granary_reaper;
grant insert on granary.receipts, granary.reap_failures to granary_reaper;
grant update on granary.reap_failures to granary_reaper;

-- partition-cleaner: reads.
grant select on granary.partition_objects to granary_partition_cleaner;

-- admin: tables, settings, holds, plans, undo, park, the brake; reads everything.
grant select on all tables in schema granary to granary_admin;
grant insert on granary.tables, granary.table_schemas, granary.holds, granary.plans, granary.plan_items,
    granary.audit_log, granary.locks to granary_admin;
grant update (schema_version, settings, retention_previous_us, retention_effective_at, dropped_at, dropped_by, version)
    on granary.tables to granary_admin;
grant update (settings, deleting_paused_at, deleting_paused_by, deleting_paused_reason) on granary.deployment to granary_admin;
grant update (released_at, released_by) on granary.holds to granary_admin;
grant update (applied_at, applied_by, outcome) on granary.plans to granary_admin;
grant update (active, lock_id, lock_kind, deactivation_reason, deactivated_by) on granary.partitions to granary_admin;
grant delete on granary.locks, granary.merge_failures to granary_admin;
