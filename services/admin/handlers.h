/* The handlers of the route table, by resource: one file each. Context is the struct admin. */
#ifndef GRANARY_ADMIN_HANDLERS_H
#define GRANARY_ADMIN_HANDLERS_H

#include "common/http/http.h"

/* handler_status.c */
http_handler handle_status;
/* handler_deployment.c */
http_handler handle_deployment_show, handle_deployment_set, handle_deleting_pause, handle_deleting_resume;
/* handler_tables.c */
http_handler handle_table_list, handle_table_show, handle_table_drop, handle_table_set;
/* handler_schema.c */
http_handler handle_table_create, handle_table_add_schema;
/* handler_partitions.c */
http_handler handle_partition_list, handle_partition_show, handle_file_list;
/* handler_explain.c */
http_handler handle_partition_explain;
/* handler_change.c */
http_handler handle_partition_undo, handle_partition_park, handle_partition_unpark, handle_partition_lock,
    handle_partition_unlock;
/* handler_undo.c */
http_handler handle_table_undo;
/* handler_undrop.c */
http_handler handle_table_undrop;
/* handler_storages.c */
http_handler handle_storage_list, handle_storage_add, handle_storage_set;
/* handler_recover.c */
http_handler handle_recover_show, handle_recover;
/* handler_scan.c */
http_handler handle_scan, handle_count;
/* handler_plans.c */
http_handler handle_plan_create, handle_plan_show, handle_plan_apply;
/* handler_fsck.c */
http_handler handle_fsck, handle_orphans_plan;
/* handler_holds.c */
http_handler handle_hold_list, handle_hold_place, handle_hold_release;
/* handler_history.c */
http_handler handle_receipt_list, handle_audit_list;
/* handler_dead.c */
http_handler handle_dead_queues, handle_dead_list, handle_dead_replay, handle_dead_drop;
/* handler_export.c */
http_handler handle_dead_export;
/* openapi.c */
http_handler handle_openapi;

#endif
