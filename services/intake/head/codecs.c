#include "services/intake/head/codecs.h"

enum { LEVEL = 1 }; /* of what batch_encode_with wants */

void codecs_init(struct codecs *codecs)
{
    *codecs = (struct codecs){0};
    pthread_mutex_init(&codecs->lock, NULL);
}

void codecs_done(struct codecs *codecs)
{
    while (codecs->count != 0) {
        codec_free(codecs->idle[--codecs->count]);
    }
    pthread_mutex_destroy(&codecs->lock);
}

enum err_code codecs_take(struct codecs *codecs, struct codec **out, struct error *err)
{
    pthread_mutex_lock(&codecs->lock);
    struct codec *codec = codecs->count != 0 ? codecs->idle[--codecs->count] : NULL;
    pthread_mutex_unlock(&codecs->lock);
    if (codec == NULL) {
        return codec_new(LEVEL, out, err);
    }
    *out = codec;
    return OK;
}

void codecs_give(struct codecs *codecs, struct codec *codec_take)
{
    pthread_mutex_lock(&codecs->lock);
    if (codecs->count < CODECS_KEPT) {
        codecs->idle[codecs->count++] = TAKE(codec_take);
    }
    pthread_mutex_unlock(&codecs->lock);
    codec_free(codec_take);
}
