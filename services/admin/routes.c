#include "services/admin/routes.h"

#include "services/admin/admin.h"
#include "services/admin/handlers.h"

/* Every handler but the page itself asks a server and may wait for it. */
#define ROUTE(a_method, a_pattern, a_role, a_body, a_handler)                                                 \
    {                                                                                                         \
        .method = (a_method), .pattern = (a_pattern), .role = HTTP_ROLE_##a_role, .max_body_bytes = (a_body), \
        .handler = (a_handler), .blocking = true                                                              \
    }
#define SMALL   16384
#define NO_BODY 0

const struct http_route admin_routes[] = {
    ROUTE("GET", "/api/v1/status", READ, NO_BODY, handle_status),
    ROUTE("GET", "/api/v1/deployment", READ, NO_BODY, handle_deployment_show),
    ROUTE("PATCH", "/api/v1/deployment/settings", OPERATE, SMALL, handle_deployment_set),
    ROUTE("POST", "/api/v1/deleting/pause", OPERATE, SMALL, handle_deleting_pause),
    ROUTE("POST", "/api/v1/deleting/resume", OPERATE, SMALL, handle_deleting_resume),
    ROUTE("GET", "/api/v1/tables", READ, NO_BODY, handle_table_list),
    ROUTE("POST", "/api/v1/tables", OPERATE, MAX_BODY_BYTES, handle_table_create),
    ROUTE("GET", "/api/v1/tables/{table}", READ, NO_BODY, handle_table_show),
    ROUTE("DELETE", "/api/v1/tables/{table}", OPERATE, NO_BODY, handle_table_drop),
    ROUTE("PATCH", "/api/v1/tables/{table}/settings", OPERATE, SMALL, handle_table_set),
    ROUTE("POST", "/api/v1/tables/{table}/schema", OPERATE, MAX_BODY_BYTES, handle_table_add_schema),
    ROUTE("GET", "/api/v1/tables/{table}/partitions", READ, NO_BODY, handle_partition_list),
    ROUTE("GET", "/api/v1/partitions/{id}", READ, NO_BODY, handle_partition_show),
    ROUTE("GET", "/api/v1/partitions/{id}/explain", READ, NO_BODY, handle_partition_explain),
    ROUTE("POST", "/api/v1/partitions/{id}/undo", OPERATE, SMALL, handle_partition_undo),
    ROUTE("POST", "/api/v1/partitions/{id}/park", OPERATE, SMALL, handle_partition_park),
    ROUTE("POST", "/api/v1/partitions/{id}/unpark", OPERATE, SMALL, handle_partition_unpark),
    ROUTE("POST", "/api/v1/partitions/{id}/lock", OPERATE, SMALL, handle_partition_lock),
    ROUTE("POST", "/api/v1/partitions/{id}/unlock", OPERATE, SMALL, handle_partition_unlock),
    ROUTE("POST", "/api/v1/tables/{table}/undo", OPERATE, SMALL, handle_table_undo),
    ROUTE("POST", "/api/v1/tables/{table}/undrop", OPERATE, SMALL, handle_table_undrop),
    ROUTE("GET", "/api/v1/tables/{table}/scan", READ, NO_BODY, handle_scan),
    ROUTE("GET", "/api/v1/tables/{table}/files", READ, NO_BODY, handle_file_list),
    ROUTE("GET", "/api/v1/tables/{table}/count", READ, NO_BODY, handle_count),
    ROUTE("POST", "/api/v1/plans", OPERATE, SMALL, handle_plan_create),
    ROUTE("GET", "/api/v1/plans/{id}", READ, NO_BODY, handle_plan_show),
    ROUTE("POST", "/api/v1/plans/{id}/apply", OPERATE, SMALL, handle_plan_apply),
    ROUTE("POST", "/api/v1/plans/orphans", OPERATE, SMALL, handle_orphans_plan),
    ROUTE("GET", "/api/v1/fsck", READ, NO_BODY, handle_fsck),
    ROUTE("GET", "/api/v1/holds", READ, NO_BODY, handle_hold_list),
    ROUTE("POST", "/api/v1/holds", OPERATE, SMALL, handle_hold_place),
    ROUTE("DELETE", "/api/v1/holds/{id}", OPERATE, NO_BODY, handle_hold_release),
    ROUTE("GET", "/api/v1/receipts", READ, NO_BODY, handle_receipt_list),
    ROUTE("GET", "/api/v1/audit", READ, NO_BODY, handle_audit_list),
    ROUTE("GET", "/api/v1/storages", READ, NO_BODY, handle_storage_list),
    ROUTE("POST", "/api/v1/storages", OPERATE, SMALL, handle_storage_add),
    ROUTE("PATCH", "/api/v1/storages/{name}", OPERATE, SMALL, handle_storage_set),
    ROUTE("GET", "/api/v1/recover", READ, NO_BODY, handle_recover_show),
    ROUTE("POST", "/api/v1/recover", OPERATE, SMALL, handle_recover),
    ROUTE("GET", "/api/v1/dead", READ, NO_BODY, handle_dead_queues),
    ROUTE("GET", "/api/v1/dead/{queue}", READ, NO_BODY, handle_dead_list),
    ROUTE("GET", "/api/v1/dead/{queue}/export", READ, NO_BODY, handle_dead_export),
    ROUTE("POST", "/api/v1/dead/{queue}/replay", OPERATE, SMALL, handle_dead_replay),
    ROUTE("POST", "/api/v1/dead/{queue}/drop", OPERATE, SMALL, handle_dead_drop),
    {.method = "GET", .pattern = "/openapi.json", .handler = handle_openapi},
};
const size_t admin_route_count = sizeof admin_routes / sizeof admin_routes[0];
