/* Compressors that are not in use now: each encoding takes one and gives it back, so that there are as many as threads that
 * encode at the same time. Thread safe. */
#ifndef GRANARY_INTAKE_HEAD_CODECS_H
#define GRANARY_INTAKE_HEAD_CODECS_H

#include <pthread.h>

#include "common/codec/codec.h"

enum { CODECS_KEPT = 64 };

struct codecs {
    pthread_mutex_t lock;
    size_t count;
    struct codec *idle[CODECS_KEPT]; /* owned */
};

void codecs_init(struct codecs *codecs);
void codecs_done(struct codecs *codecs); /* those taken must have been given back */

MUST_CHECK enum err_code codecs_take(struct codecs *codecs, struct codec **out, struct error *err);
void codecs_give(struct codecs *codecs, struct codec *codec_take);

#endif
