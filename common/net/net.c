#include "common/net/net.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/base/clock.h"
#include "common/net/internal.h"

#define DEFAULT_CONNECT_US (5 * CLOCK_SECOND_US)
#define FIRST_PAUSE_US     INT64_C(100000)
#define LONGEST_PAUSE_US   (5 * CLOCK_SECOND_US)
enum { LONGEST_ASKED_SECONDS = 86400 }; /* beyond any deadline that makes sense */

void net_client_close(struct net_client *client)
{
    if (client != NULL) {
        curl_easy_cleanup(client->curl);
        free(client->ca_file);
        free(client->authorization);
        free(client->user_agent);
        free(client);
    }
}

void net_answer_done(struct net_answer *answer)
{
    buf_done(&answer->body);
}

static bool is_set(const char *text)
{
    return text != NULL && *text != '\0';
}

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;

static void init_curl(void)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        abort(); /* out of memory, or a broken TLS library */
    }
}

static enum err_code set_authorization(struct net_client *client, const char *token, struct error *err)
{
    if (strpbrk(token, "\r\n") != NULL) {
        return err_set(err, ERR_INVALID, "expected a bearer token on one line but found a line break");
    }
    AUTO(buf_done) struct buf line = {0};
    TRY(buf_printf(&line, err, "Authorization: Bearer %s", token));
    const char *text = buf_text(&line);
    client->authorization = text == NULL ? NULL : strdup(text);
    return client->authorization == NULL ? err_no_memory(err, line.length_bytes) : OK;
}

enum err_code net_client_open(const struct net_client_options *options, struct net_client **out, struct error *err)
{
    (void)pthread_once(&curl_once, init_curl);
    AUTO(net_client_close_auto) struct net_client *client = calloc(1, sizeof *client);
    if (client == NULL) {
        return err_no_memory(err, sizeof *client);
    }
    client->curl = curl_easy_init();
    client->user_agent = strdup(is_set(options->user_agent) ? options->user_agent : "granary/" GRANARY_VERSION);
    client->connect_timeout_us = options->connect_timeout_us == 0 ? DEFAULT_CONNECT_US : options->connect_timeout_us;
    client->stall_timeout_us = options->stall_timeout_us;
    if (client->curl == NULL || client->user_agent == NULL) {
        return err_no_memory(err, sizeof *client);
    }
    if (is_set(options->ca_file) && (client->ca_file = strdup(options->ca_file)) == NULL) {
        return err_no_memory(err, strlen(options->ca_file));
    }
    if (is_set(options->bearer_token)) {
        TRY(set_authorization(client, options->bearer_token, err));
    }
    *out = TAKE(client);
    return OK;
}

static bool can_heal(enum err_code code, long status)
{
    return code == ERR_UNAVAILABLE || (code == OK && (status == 429 || (status >= 502 && status <= 504)));
}

/* Full jitter: anything from 0 to a bound that doubles with each try. What the server asked for is the least. */
static int64_t pause_us(unsigned tries, const char *retry_after)
{
    int64_t bound_us = FIRST_PAUSE_US;
    for (unsigned i = 1; i < tries && bound_us < LONGEST_PAUSE_US; i++) {
        bound_us *= 2;
    }
    bound_us = bound_us < LONGEST_PAUSE_US ? bound_us : LONGEST_PAUSE_US;
    uint32_t random = 0;
    (void)!getrandom(&random, sizeof random, 0); /* a short read only makes it less random */
    long asked = strtol(retry_after, NULL, 10);  /* a date reads as 0: jitter decides */
    int64_t asked_us = (asked > LONGEST_ASKED_SECONDS ? LONGEST_ASKED_SECONDS : asked) * CLOCK_SECOND_US;
    int64_t chosen_us = random % (bound_us + 1);
    return chosen_us > asked_us ? chosen_us : asked_us;
}

enum err_code net_send(struct net_client *client, const struct net_request *request, struct net_answer *out,
                       struct error *err)
{
    int64_t start_us = clock_monotonic_us();
    for (unsigned tries = 1;; tries++) {
        AUTO(net_answer_done) struct net_answer answer = {0};
        bool streamed = false;
        enum err_code code = net_try(client, request, &answer, &streamed, err);
        int64_t wait_us = pause_us(tries, answer.retry_after);
        int64_t spent_us = clock_monotonic_us() - start_us;
        /* A pause that would end behind the deadline is not begun. */
        if (can_heal(code, answer.status) && !streamed && spent_us + wait_us < request->retry_for_us) {
            clock_pause_us(wait_us);
            continue;
        }
        if (code == OK) {
            *out = answer;
            answer = (struct net_answer){0};
        } else if (tries > 1) {
            return err_wrap(err, "%u tries in %lld ms, last", tries, (long long)(spent_us / 1000));
        }
        return code;
    }
}

enum err_code net_url_escape(const char *text, struct buf *out, struct error *err)
{
    static const char digits[] = "0123456789ABCDEF";
    /* RFC 3986 section 2.3 */
    static const char unreserved[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        const char escaped[] = {'%', digits[c >> 4], digits[c & 15]};
        TRY(strchr(unreserved, c) != NULL ? buf_append_byte(out, c, err)
                                          : buf_append(out, escaped, sizeof escaped, err));
    }
    return OK;
}

int64_t net_parse_date(const char *text)
{
    time_t seconds = curl_getdate(text, NULL);
    return seconds < 0 ? 0 : (int64_t)seconds * CLOCK_SECOND_US;
}
