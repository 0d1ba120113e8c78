/* The groups of commands, one file each. */
#ifndef GRANARY_CLI_GROUPS_H
#define GRANARY_CLI_GROUPS_H

#include "cli/cli.h"

extern const struct cli_group cli_group_tables;     /* table.c */
extern const struct cli_group cli_group_read;       /* read.c */
extern const struct cli_group cli_group_partitions; /* partition.c */
extern const struct cli_group cli_group_status;     /* status.c */
extern const struct cli_group cli_group_load;       /* load.c */
extern const struct cli_group cli_group_explain;    /* explain.c */
extern const struct cli_group cli_group_store;      /* fsck.c */
extern const struct cli_group cli_group_storages;   /* storage.c */
extern const struct cli_group cli_group_retention;  /* retention.c */
extern const struct cli_group cli_group_holds;      /* hold.c */
extern const struct cli_group cli_group_dead;       /* dead.c */
extern const struct cli_group cli_group_history;    /* history.c */
extern const struct cli_group cli_group_deployment; /* deployment.c */
extern const struct cli_group cli_group_catalog;    /* migrate.c */

#endif
