#include <limits.h>
#include <string.h>

#include "common/base/text.h"
#include "common/bus/internal.h"

enum { PORT_PLAIN = 5672, PORT_TLS = 5671 };

static const int64_t default_delays_us[BUS_LADDER_STEPS] = {INT64_C(10000000), INT64_C(60000000), INT64_C(600000000),
                                                            INT64_C(3600000000)};

/* A piece of the URL. */
struct span {
    const char *text;
    size_t length;
};

static enum err_code bad_url(struct error *err, const char *what)
{
    return err_set(err, ERR_INVALID,
                   "could not use the broker's URL: %s; hint: amqp://user@host:5672/vhost or amqps://...", what);
}

static enum err_code decode(struct span in, const char *what, char **out, struct error *err)
{
    AUTO(free_auto) char *text = malloc(in.length + 1);
    if (text == NULL) {
        return err_no_memory(err, in.length + 1);
    }
    size_t length = 0;
    for (size_t i = 0; i < in.length; i++) {
        uint8_t byte = (uint8_t)in.text[i];
        if (byte == '%') {
            if (in.length - i < 3 || !text_hex_decode(in.text + i + 1, 2, &byte, 1)) {
                return bad_url(err, "a percent sign without two hex digits");
            }
            i += 2;
        }
        if (byte < 0x20 || byte == 0x7f) {
            return bad_url(err, what);
        }
        text[length++] = (char)byte;
    }
    text[length] = '\0';
    free(*out);
    *out = TAKE(text);
    return OK;
}

static struct span until(struct span *rest, const char *stop)
{
    struct span piece = {rest->text, strcspn(rest->text, stop)};
    rest->text += piece.length;
    rest->length -= piece.length;
    return piece;
}

static enum err_code parse_scheme(struct span *rest, struct bus_settings *settings, struct error *err)
{
    static const struct {
        const char *prefix;
        bool tls;
    } schemes[] = {{"amqp://", false}, {"amqps://", true}};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        size_t length = strlen(schemes[i].prefix);
        if (strncmp(rest->text, schemes[i].prefix, length) == 0) {
            *rest = (struct span){rest->text + length, rest->length - length};
            settings->tls = schemes[i].tls;
            settings->port = schemes[i].tls ? PORT_TLS : PORT_PLAIN;
            return OK;
        }
    }
    return bad_url(err, "expected it to begin with \"amqp://\" or \"amqps://\"");
}

static enum err_code parse_user(struct span *authority, struct bus_settings *settings, struct error *err)
{
    const char *at = memrchr(authority->text, '@', authority->length);
    if (at == NULL) {
        return OK;
    }
    struct span user = {authority->text, (size_t)(at - authority->text)};
    *authority = (struct span){at + 1, authority->length - user.length - 1};
    const char *colon = memchr(user.text, ':', user.length);
    if (colon != NULL) {
        struct span password = {colon + 1, (size_t)(user.text + user.length - colon - 1)};
        user.length = (size_t)(colon - user.text);
        TRY(decode(password, "a control character in the password", &settings->password, err));
    }
    return decode(user, "a control character in the user", &settings->user, err);
}

static enum err_code parse_port(struct span text, int *out, struct error *err)
{
    char digits[8];
    if (text.length >= sizeof digits) {
        return bad_url(err, "the port is too long");
    }
    memcpy(digits, text.text, text.length);
    digits[text.length] = '\0';
    int64_t port;
    TRY(text_parse_i64(digits, 1, UINT16_MAX, "the broker's port", &port, err));
    *out = (int)port;
    return OK;
}

static enum err_code parse_host(struct span authority, struct bus_settings *settings, struct error *err)
{
    struct span host = authority;
    const char *port = NULL;
    if (authority.length > 0 && authority.text[0] == '[') { /* IPv6: [::1]:5672 */
        const char *close = memchr(authority.text, ']', authority.length);
        if (close == NULL) {
            return bad_url(err, "the host's \"[\" is never closed");
        }
        host = (struct span){authority.text + 1, (size_t)(close - authority.text - 1)};
        port = close + 1;
        if (port < authority.text + authority.length && *port != ':') {
            return bad_url(err, "expected \":\" after \"]\"");
        }
    } else {
        port = memchr(authority.text, ':', authority.length);
        host.length = port == NULL ? authority.length : (size_t)(port - authority.text);
    }
    const char *end = authority.text + authority.length;
    if (port != NULL && port < end) {
        TRY(parse_port((struct span){port + 1, (size_t)(end - port - 1)}, &settings->port, err));
    }
    if (host.length == 0) {
        return bad_url(err, "no host");
    }
    return decode(host, "a control character in the host", &settings->host, err);
}

static enum err_code parse_url(const char *url, struct bus_settings *settings, struct error *err)
{
    struct span rest = {url, strlen(url)};
    TRY(parse_scheme(&rest, settings, err));
    struct span authority = until(&rest, "/?#");
    TRY(parse_user(&authority, settings, err));
    TRY(parse_host(authority, settings, err));
    if (rest.length > 1 && rest.text[0] == '/') { /* nothing, or "/" alone, leaves the default vhost */
        rest = (struct span){rest.text + 1, rest.length - 1};
        TRY(decode(until(&rest, "/?#"), "a control character in the vhost", &settings->vhost, err));
        if (strlen(settings->vhost) > BUS_NAME_MAX_BYTES) {
            return bad_url(err, "the vhost is longer than 255 bytes");
        }
    } else if (rest.length == 1 && rest.text[0] == '/') {
        rest = (struct span){rest.text + 1, 0};
    }
    if (rest.length > 0) {
        return bad_url(err, "more follows the vhost; a slash in its name is written %2F");
    }
    return OK;
}

/* The caller's AUTO then frees nothing. */
static struct bus_settings hand_on(struct bus_settings *settings)
{
    struct bus_settings taken = *settings;
    *settings = (struct bus_settings){0};
    return taken;
}

static enum err_code copy_text(const char *text, const char *otherwise, char **out, struct error *err)
{
    const char *source = text != NULL && text[0] != '\0' ? text : otherwise;
    char *copy = strdup(source);
    if (copy == NULL) {
        return err_no_memory(err, strlen(source) + 1);
    }
    free(*out);
    *out = copy;
    return OK;
}

static enum err_code fill_delays(const int64_t delays_us[BUS_LADDER_STEPS], struct bus_settings *settings,
                                 struct error *err)
{
    bool unset = true;
    for (size_t i = 0; i < BUS_LADDER_STEPS; i++) {
        unset = unset && delays_us[i] == 0;
    }
    for (size_t i = 0; i < BUS_LADDER_STEPS; i++) {
        int64_t delay_us = unset ? default_delays_us[i] : delays_us[i];
        if (delay_us < 1000 || delay_us / 1000 > UINT32_MAX) { /* x-message-ttl is in whole ms */
            return err_set(err, ERR_INVALID, "expected each delay in 1 ms .. 49 days but found %lld us",
                           (long long)delay_us);
        }
        settings->delays_us[i] = delay_us;
    }
    return OK;
}

enum err_code bus_settings_parse(const struct bus_options *options, struct bus_settings *out, struct error *err)
{
    AUTO(bus_settings_done) struct bus_settings settings = {0};
    TRY(copy_text(NULL, "guest", &settings.user, err));
    TRY(copy_text(NULL, "", &settings.password, err));
    TRY(copy_text(NULL, "/", &settings.vhost, err));
    TRY(copy_text(options->ca_file, "", &settings.ca_file, err));
    TRY(copy_text(options->client_name, "granary", &settings.client_name, err));
    TRY(parse_url(options->url == NULL ? "" : options->url, &settings, err));
    TRY(copy_text(options->password, settings.password, &settings.password, err));
    TRY(fill_delays(options->delays_us, &settings, err));
    *out = hand_on(&settings);
    return OK;
}

enum err_code bus_settings_copy(const struct bus_settings *from, struct bus_settings *out, struct error *err)
{
    AUTO(bus_settings_done) struct bus_settings settings = {0};
    TRY(copy_text(from->host, "", &settings.host, err));
    TRY(copy_text(from->user, "", &settings.user, err));
    TRY(copy_text(from->password, "", &settings.password, err));
    TRY(copy_text(from->vhost, "", &settings.vhost, err));
    TRY(copy_text(from->ca_file, "", &settings.ca_file, err));
    TRY(copy_text(from->client_name, "", &settings.client_name, err));
    settings.port = from->port;
    settings.tls = from->tls;
    memcpy(settings.delays_us, from->delays_us, sizeof settings.delays_us);
    *out = hand_on(&settings);
    return OK;
}

void bus_settings_done(struct bus_settings *settings)
{
    if (settings->password != NULL) {
        explicit_bzero(settings->password, strlen(settings->password));
    }
    free(settings->host);
    free(settings->user);
    free(settings->password);
    free(settings->vhost);
    free(settings->ca_file);
    free(settings->client_name);
    *settings = (struct bus_settings){0};
}

enum err_code bus_name_check(const char *name, const char *what, struct error *err)
{
    size_t length = strlen(name);
    if (length == 0 || length > BUS_NAME_MAX_BYTES - strlen(BUS_DEAD_SUFFIX)) {
        return err_set(err, ERR_INVALID, "expected %s of 1 to 250 bytes but found %zu", what, length);
    }
    size_t good = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");
    if (good != length) {
        return err_set(err, ERR_INVALID, "expected %s of letters, digits, \".\", \"_\" and \"-\" but found \"%s\"",
                       what, name);
    }
    return OK;
}

enum err_code bus_short_check(const char *text, const char *what, struct error *err)
{
    size_t length = text == NULL ? 0 : strlen(text);
    if (length > BUS_NAME_MAX_BYTES) {
        return err_set(err, ERR_INVALID, "expected %s of at most 255 bytes but found %zu", what, length);
    }
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f) {
            return err_set(err, ERR_INVALID, "expected %s without control characters but found 0x%02x", what,
                           (unsigned)(unsigned char)text[i]);
        }
    }
    return OK;
}
