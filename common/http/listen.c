/* Our own socket rather than libmicrohttpd's, so that a failure says which address and why. */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/http/internal.h"

enum { BACKLOG = 1024, HOST_BYTES = 64 };

/* "127.0.0.1:80", "[::1]:80", ":80" (every IPv4 address) */
static enum err_code split_address(const char *address, char host[HOST_BYTES], const char **out_port, struct error *err)
{
    const char *colon = strrchr(address, ':');
    const char *start = address;
    const char *end = colon;
    if (colon != NULL && *address == '[' && colon > address && colon[-1] == ']') {
        start++;
        end--;
    }
    if (colon == NULL || end - start >= HOST_BYTES || strspn(colon + 1, "0123456789") == 0) {
        return err_set(err, ERR_INVALID, "expected an address such as \"127.0.0.1:8080\" but found \"%.128s\"",
                       address);
    }
    (void)snprintf(host, HOST_BYTES, "%.*s", (int)(end - start), start);
    *out_port = colon + 1;
    return OK;
}

static void close_socket(int *socket)
{
    if (*socket >= 0) {
        (void)close(*socket);
    }
}

/* TAKE for descriptors: the variable no longer owns it. */
static int take_socket(int *socket)
{
    int taken = *socket;
    *socket = -1;
    return taken;
}

static void free_addresses(struct addrinfo **addresses)
{
    if (*addresses != NULL) {
        freeaddrinfo(*addresses);
    }
}

static enum err_code read_port(int fd, uint16_t *out, struct error *err)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } bound = {.v6 = {0}};
    socklen_t length = sizeof bound;
    if (getsockname(fd, &bound.any, &length) != 0) {
        return err_set(err, ERR_UNAVAILABLE, "could not read the port in use: %s", strerror(errno));
    }
    *out = ntohs(bound.any.sa_family == AF_INET6 ? bound.v6.sin6_port : bound.v4.sin_port);
    return OK;
}

enum err_code http_listen(const char *address, int *out_socket, uint16_t *out_port, struct error *err)
{
    char host[HOST_BYTES] = "";
    const char *port = NULL;
    TRY(split_address(address, host, &port, err));
    struct addrinfo hints = {.ai_family = *host == '\0' ? AF_INET : AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    AUTO(free_addresses) struct addrinfo *found = NULL;
    int failure = getaddrinfo(*host == '\0' ? NULL : host, port, &hints, &found);
    if (failure != 0) {
        return err_set(err, ERR_INVALID, "could not resolve \"%.128s\": %s", address, gai_strerror(failure));
    }
    AUTO(close_socket) int fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int on = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0) {
        return err_set(err, ERR_UNAVAILABLE, "could not listen on \"%.128s\": %s", address, strerror(errno));
    }
    TRY(read_port(fd, out_port, err));
    *out_socket = take_socket(&fd);
    return OK;
}
