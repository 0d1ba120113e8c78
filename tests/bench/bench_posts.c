/* Posts one body again and again over some connections, each of which waits for its answer before it sends the next.
 *   bench_posts PORT PATH TOKEN CONNECTIONS SECONDS <BODY
 * Prints {"posts":N,"refused":N,"seconds":S}; refused are those that were not answered with 2xx. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/clock.h"

enum { MAX_CONNECTIONS = 1024, ANSWER_BYTES = 16 << 10 };

struct connection {
    int fd;
    size_t sent, received;
    char answer[ANSWER_BYTES];
};

struct load {
    struct buf request;
    struct connection *connections;
    int epoll;
    uint64_t posts, refused;
};

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void make_request(struct load *load, const char *path, const char *token)
{
    AUTO(buf_done) struct buf body = {0};
    char piece[4096];
    struct error err;
    for (ssize_t length; (length = read(STDIN_FILENO, piece, sizeof piece)) > 0;) {
        if (buf_append(&body, piece, (size_t)length, &err) != OK) {
            fail("body");
        }
    }
    if (buf_printf(&load->request, &err,
                   "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
                   "Authorization: Bearer %s\r\nContent-Length: %zu\r\n\r\n",
                   path, token, body.length_bytes) != OK ||
        buf_append(&load->request, body.data, body.length_bytes, &err) != OK) {
        fail("request");
    }
}

static void watch(const struct load *load, struct connection *connection, int operation, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = connection};
    if (epoll_ctl(load->epoll, operation, connection->fd, &event) != 0) {
        fail("epoll_ctl");
    }
}

static void send_more(struct load *load, struct connection *connection)
{
    const struct buf *request = &load->request;
    ssize_t sent = send(connection->fd, request->data + connection->sent, request->length_bytes - connection->sent, 0);
    if (sent <= 0) {
        fail("send");
    }
    connection->sent += (size_t)sent;
    watch(load, connection, EPOLL_CTL_MOD, connection->sent < request->length_bytes ? EPOLLOUT : EPOLLIN);
}

/* 0 as long as the answer is not complete. */
static int status_of(const char *answer, size_t length)
{
    const char *body = strstr(answer, "\r\n\r\n");
    const char *size = strcasestr(answer, "\r\nContent-Length:");
    if (body == NULL || size == NULL) {
        return 0;
    }
    size_t whole = (size_t)(body - answer) + 4 + strtoull(size + strlen("\r\nContent-Length:"), NULL, 10);
    return length < whole ? 0 : atoi(answer + strlen("HTTP/1.1 "));
}

static void receive(struct load *load, struct connection *connection)
{
    ssize_t length =
        recv(connection->fd, connection->answer + connection->received, ANSWER_BYTES - 1 - connection->received, 0);
    if (length <= 0) {
        fail("recv");
    }
    connection->received += (size_t)length;
    connection->answer[connection->received] = '\0';
    int status = status_of(connection->answer, connection->received);
    if (status != 0) {
        *(status / 100 == 2 ? &load->posts : &load->refused) += 1;
        connection->sent = connection->received = 0;
        send_more(load, connection);
    }
}

static void open_connections(struct load *load, uint16_t port, size_t count)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (size_t i = 0; i < count; i++) {
        struct connection *connection = &load->connections[i];
        connection->fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connection->fd < 0 || connect(connection->fd, (struct sockaddr *)&address, sizeof address) != 0) {
            fail("connect");
        }
        watch(load, connection, EPOLL_CTL_ADD, EPOLLOUT);
    }
}

int main(int argc, char **argv)
{
    struct load load = {.epoll = epoll_create1(0)};
    struct epoll_event events[64];
    size_t count = argc == 6 ? strtoul(argv[4], NULL, 10) : 0;
    if (count == 0 || count > MAX_CONNECTIONS) {
        (void)fprintf(stderr, "usage: %s PORT PATH TOKEN CONNECTIONS SECONDS <BODY\n", argv[0]);
        return 78;
    }
    make_request(&load, argv[2], argv[3]);
    load.connections = calloc(count, sizeof *load.connections);
    if (load.connections == NULL) {
        fail("connections");
    }
    open_connections(&load, (uint16_t)strtoul(argv[1], NULL, 10), count);
    int64_t start_us = clock_monotonic_us();
    int64_t end_us = start_us + (int64_t)(strtod(argv[5], NULL) * CLOCK_SECOND_US);
    while (clock_monotonic_us() < end_us) {
        int ready = epoll_wait(load.epoll, events, 64, 100);
        for (int i = 0; i < ready; i++) {
            struct connection *connection = events[i].data.ptr;
            (events[i].events & EPOLLOUT ? send_more : receive)(&load, connection);
        }
    }
    printf("{\"posts\":%llu,\"refused\":%llu,\"seconds\":%.6f}\n", (unsigned long long)load.posts,
           (unsigned long long)load.refused, (double)(clock_monotonic_us() - start_us) / CLOCK_SECOND_US);
    buf_done(&load.request);
    free(load.connections);
    return 0;
}
