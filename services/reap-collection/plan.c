#include "services/reap-collection/plan.h"

#include <stdlib.h>
#include <string.h>

void collection_turns_done(struct collection_turns *turns)
{
    free(turns->turns);
}

enum err_code collection_turns_add(struct collection_turns *turns, const struct uuid *table_id, struct error *err)
{
    if (turns->count == turns->capacity) {
        size_t capacity = turns->capacity == 0 ? 64 : 2 * turns->capacity;
        struct collection_turn *grown = realloc(turns->turns, capacity * sizeof *grown);
        if (grown == NULL) {
            return err_no_memory(err, capacity * sizeof *grown);
        }
        turns->turns = grown;
        turns->capacity = capacity;
    }
    turns->turns[turns->count++] = (struct collection_turn){.table_id = *table_id};
    return OK;
}

void collection_turns_begin(struct collection_turns *turns, uint64_t random)
{
    turns->next = turns->count == 0 ? 0 : random % turns->count;
}

struct collection_turn *collection_turns_take(struct collection_turns *turns)
{
    return turns->count == 0 ? NULL : &turns->turns[turns->next];
}

void collection_turns_give(struct collection_turns *turns, const struct catalog_reap_item *last)
{
    struct collection_turn *turn = &turns->turns[turns->next];
    if (last != NULL) {
        turn->begun = true;
        turn->last = *last;
        turns->next++;
    } else {
        turns->count--;
        memmove(turn, turn + 1, (turns->count - turns->next) * sizeof *turn);
    }
    turns->next = turns->next < turns->count ? turns->next : 0;
}
