#include "tests/integration/bus/proxy.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_PAIRS = 32, CHUNK_BYTES = 64 * 1024 };

struct pair {
    int client, broker;
};

struct proxy {
    char url[512], host[256], port[16];
    int listener, wake;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t was_cut;
    bool cut, stop;               /* asked for, under the lock */
    struct pair pairs[MAX_PAIRS]; /* the thread's own */
    size_t count;
};

static void die(const char *what)
{
    (void)fprintf(stderr, "proxy: could not %s: %s\n", what, strerror(errno));
    abort();
}

/* Splits "scheme://user:password@host:port/vhost" and puts our port in. */
static void rewrite_url(struct proxy *proxy, const char *broker_url, int own_port)
{
    const char *start = strstr(broker_url, "://");
    const char *at = strchr(broker_url, '@');
    const char *host = at != NULL ? at + 1 : start + 3;
    const char *colon = strchr(host, ':');
    size_t end = strcspn(host, "/");
    if (start == NULL || colon == NULL || colon > host + end) {
        errno = EINVAL;
        die("read the broker's URL (host and port are needed)");
    }
    (void)snprintf(proxy->host, sizeof proxy->host, "%.*s", (int)(colon - host), host);
    (void)snprintf(proxy->port, sizeof proxy->port, "%.*s", (int)(host + end - colon - 1), colon + 1);
    (void)snprintf(proxy->url, sizeof proxy->url, "%.*s127.0.0.1:%d%s", (int)(host - broker_url), broker_url, own_port,
                   host + end);
}

static int dial(const struct proxy *proxy)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found = NULL;
    if (getaddrinfo(proxy->host, proxy->port, &hints, &found) != 0) {
        die("find the broker's address");
    }
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen) != 0) {
        die("connect to the broker");
    }
    freeaddrinfo(found);
    return fd;
}

static void drop_pair(struct proxy *proxy, size_t index)
{
    close(proxy->pairs[index].client);
    close(proxy->pairs[index].broker);
    proxy->pairs[index] = proxy->pairs[--proxy->count];
}

static void accept_pair(struct proxy *proxy)
{
    int client = accept4(proxy->listener, NULL, NULL, SOCK_CLOEXEC);
    if (client < 0) {
        return;
    }
    if (proxy->count == MAX_PAIRS) {
        close(client);
        return;
    }
    proxy->pairs[proxy->count++] = (struct pair){client, dial(proxy)};
}

static bool forward(int from, int to)
{
    static char chunk[CHUNK_BYTES]; /* one proxy thread at a time in a test */
    ssize_t got = recv(from, chunk, sizeof chunk, 0);
    for (ssize_t sent = 0; got > 0 && sent < got;) {
        ssize_t wrote = send(to, chunk + sent, (size_t)(got - sent), MSG_NOSIGNAL);
        if (wrote <= 0) {
            return false;
        }
        sent += wrote;
    }
    return got > 0;
}

static bool obey(struct proxy *proxy)
{
    eventfd_t ignored;
    pthread_mutex_lock(&proxy->lock);
    (void)eventfd_read(proxy->wake, &ignored);
    if (proxy->cut || proxy->stop) {
        while (proxy->count > 0) {
            drop_pair(proxy, 0);
        }
        proxy->cut = false;
        pthread_cond_broadcast(&proxy->was_cut);
    }
    bool stop = proxy->stop;
    pthread_mutex_unlock(&proxy->lock);
    return !stop;
}

static void *run(void *argument)
{
    struct proxy *proxy = argument;
    for (;;) {
        struct pollfd fds[2 + 2 * MAX_PAIRS] = {{.fd = proxy->wake, .events = POLLIN},
                                                {.fd = proxy->listener, .events = POLLIN}};
        size_t count = proxy->count;
        for (size_t i = 0; i < count; i++) {
            fds[2 + 2 * i] = (struct pollfd){.fd = proxy->pairs[i].client, .events = POLLIN};
            fds[3 + 2 * i] = (struct pollfd){.fd = proxy->pairs[i].broker, .events = POLLIN};
        }
        (void)poll(fds, 2 + 2 * count, -1);
        if (fds[0].revents != 0) {
            if (!obey(proxy)) {
                return NULL;
            }
            continue;
        }
        for (size_t i = count; i-- > 0;) { /* backwards: dropping moves the last one, which is done */
            struct pair pair = proxy->pairs[i];
            if ((fds[2 + 2 * i].revents != 0 && !forward(pair.client, pair.broker)) ||
                (fds[3 + 2 * i].revents != 0 && !forward(pair.broker, pair.client))) {
                drop_pair(proxy, i);
            }
        }
        if (fds[1].revents != 0) {
            accept_pair(proxy);
        }
    }
}

struct proxy *proxy_open(const char *broker_url)
{
    struct proxy *proxy = calloc(1, sizeof *proxy);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    proxy->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (bind(proxy->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(proxy->listener, MAX_PAIRS) != 0 ||
        getsockname(proxy->listener, (struct sockaddr *)&address, &length) != 0) {
        die("listen");
    }
    rewrite_url(proxy, broker_url, ntohs(address.sin_port));
    pthread_mutex_init(&proxy->lock, NULL);
    pthread_cond_init(&proxy->was_cut, NULL);
    if (pthread_create(&proxy->thread, NULL, run, proxy) != 0) {
        die("start a thread");
    }
    return proxy;
}

const char *proxy_url(const struct proxy *proxy)
{
    return proxy->url;
}

void proxy_cut(struct proxy *proxy)
{
    pthread_mutex_lock(&proxy->lock);
    proxy->cut = true;
    (void)eventfd_write(proxy->wake, 1);
    while (proxy->cut) {
        pthread_cond_wait(&proxy->was_cut, &proxy->lock);
    }
    pthread_mutex_unlock(&proxy->lock);
}

void proxy_close(struct proxy *proxy)
{
    if (proxy == NULL) {
        return;
    }
    pthread_mutex_lock(&proxy->lock);
    proxy->stop = true;
    (void)eventfd_write(proxy->wake, 1);
    pthread_mutex_unlock(&proxy->lock);
    pthread_join(proxy->thread, NULL);
    close(proxy->listener);
    close(proxy->wake);
    pthread_cond_destroy(&proxy->was_cut);
    pthread_mutex_destroy(&proxy->lock);
    free(proxy);
}
