/* From SQLSTATE (PostgreSQL's documentation, appendix A) to what the caller can do. */
#include <string.h>

#include "common/catalog/session.h"

static const struct {
    const char *prefix; /* of the five characters; the first match counts */
    enum err_code code;
} CODES[] = {
    {"08", ERR_UNAVAILABLE},    /* connection */
    {"57P", ERR_UNAVAILABLE},   /* shut down, starting up, database dropped, idle session */
    {"25P03", ERR_UNAVAILABLE}, /* idle in transaction */
    {"25006", ERR_UNAVAILABLE}, /* read-only: a standby that is about to lead, or a disk that is full */
    {"53", ERR_UNAVAILABLE},    /* disk full, out of memory, too many connections */
    {"58", ERR_UNAVAILABLE},    /* the server's system */
    {"55P03", ERR_TIMEOUT},     /* lock_timeout */
    {"57014", ERR_TIMEOUT},     /* statement_timeout */
    {"40", ERR_CONFLICT},       /* deadlock, serialization */
    {"GR001", ERR_CONFLICT},    /* the guard */
    {"GR002", ERR_CONFLICT},    /* a lease that is over */
    {"23505", ERR_CONFLICT},    /* unique */
    {"42501", ERR_DENIED},      /* privilege */
    {"28", ERR_DENIED},         /* log-in */
    {"XX001", ERR_CORRUPT},     {"XX002", ERR_CORRUPT},
};

static enum err_code code_of(const char *state)
{
    for (size_t i = 0; i < sizeof CODES / sizeof CODES[0]; i++) {
        if (strncmp(state, CODES[i].prefix, strlen(CODES[i].prefix)) == 0) {
            return CODES[i].code;
        }
    }
    return ERR_INVALID;
}

static int trimmed(const char *text)
{
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == ' ')) {
        length--;
    }
    return (int)length;
}

enum err_code catalog_session_error(struct catalog *catalog, const PGresult *result, struct error *err)
{
    const char *state = result != NULL ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    const char *message = result != NULL ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    const char *detail = result != NULL ? PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL) : NULL;
    const char *hint = result != NULL ? PQresultErrorField(result, PG_DIAG_MESSAGE_HINT) : NULL;
    enum err_code code;

    if (state == NULL) { /* libpq's own: the connection, or memory */
        const char *text = result != NULL ? PQresultErrorMessage(result) : PQerrorMessage(catalog->connection);
        code = err_set(err, ERR_UNAVAILABLE, "the connection to the catalog was lost: %.*s", trimmed(text), text);
        catalog_session_drop(catalog);
        return code;
    }
    code = err_set(err, code_of(state), "the catalog refused: %s [%s]%s%s%s%s", message != NULL ? message : "", state,
                   detail != NULL ? "; " : "", detail != NULL ? detail : "", hint != NULL ? "; hint: " : "",
                   hint != NULL ? hint : "");
    if (strncmp(state, "57P", 3) == 0 || strncmp(state, "08", 2) == 0 || strcmp(state, "25P03") == 0) {
        catalog_session_drop(catalog); /* the server ends the session after these */
    }
    return code;
}

enum err_code catalog_session_uncertain(enum err_code code, struct error *err)
{
    char text[ERROR_TEXT_BYTES] = "";
    if (err != NULL) {
        memcpy(text, err->text, sizeof text);
    }
    return code == OK ? OK : err_set(err, ERR_UNKNOWN, "it is not known whether the change was committed: %s", text);
}
