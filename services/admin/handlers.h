/* The handlers of the route table, by resource: one file each. Context is the struct admin. */
#ifndef GRANARY_ADMIN_HANDLERS_H
#define GRANARY_ADMIN_HANDLERS_H

#include "common/http/http.h"

/* handlers/status.c */
http_handler handle_status;
/* handlers/deployment.c */
http_handler handle_deployment_show, handle_deployment_set, handle_deleting_pause, handle_deleting_resume;
/* handlers/tables.c */
http_handler handle_table_list, handle_table_show, handle_table_drop, handle_table_set;
/* handlers/schema.c */
http_handler handle_table_create, handle_table_add_schema;
/* handlers/partitions.c */
http_handler handle_partition_list, handle_partition_show, handle_file_list;
/* handlers/explain.c */
http_handler handle_partition_explain;
/* handlers/change.c */
http_handler handle_partition_undo, handle_partition_park, handle_partition_unpark, handle_partition_lock,
    handle_partition_unlock;
/* handlers/undo.c */
http_handler handle_table_undo;
/* handlers/undrop.c */
http_handler handle_table_undrop;
/* handlers/storages.c */
http_handler handle_storage_list, handle_storage_add, handle_storage_set;
/* handlers/recover.c */
http_handler handle_recover_show, handle_recover;
/* handlers/scan.c */
http_handler handle_scan, handle_count;
/* handlers/plans.c */
http_handler handle_plan_create, handle_plan_show, handle_plan_apply;
/* handlers/fsck.c */
http_handler handle_fsck, handle_orphans_plan;
/* handlers/holds.c */
http_handler handle_hold_list, handle_hold_place, handle_hold_release;
/* handlers/history.c */
http_handler handle_receipt_list, handle_audit_list;
/* handlers/dead.c */
http_handler handle_dead_queues, handle_dead_list, handle_dead_replay, handle_dead_drop;
/* handlers/export.c */
http_handler handle_dead_export;
/* openapi.c */
http_handler handle_openapi;

#endif
