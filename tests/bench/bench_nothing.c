/* An HTTP server on libmicrohttpd that reads each request and answers 202: what the library gives, without anything done.
 *   bench_nothing THREADS
 * Prints its port, and ends with its standard input. */
#include <arpa/inet.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char answer[] = "{\"rows\":8}";

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *data, size_t *length, void **state)
{
    (void)url;
    (void)method;
    (void)version;
    (void)data;
    if (*state == NULL) {
        *state = context; /* the headers; the body comes next */
        return MHD_YES;
    }
    if (*length != 0) {
        *length = 0;
        return MHD_YES;
    }
    struct MHD_Response *response =
        MHD_create_response_from_buffer(sizeof answer - 1, (void *)(intptr_t)answer, MHD_RESPMEM_PERSISTENT);
    enum MHD_Result result = MHD_queue_response(connection, 202, response);
    MHD_destroy_response(response);
    return result;
}

int main(int argc, char **argv)
{
    unsigned threads = argc == 2 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    char end[16];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (threads == 0) {
        (void)fprintf(stderr, "usage: %s THREADS\n", argv[0]);
        return 78;
    }
    struct MHD_OptionItem pool[] = {{MHD_OPTION_THREAD_POOL_SIZE, threads, NULL}, {MHD_OPTION_END, 0, NULL}};
    struct MHD_Daemon *daemon =
        MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, handle, &address, MHD_OPTION_SOCK_ADDR, &address,
                         MHD_OPTION_ARRAY, threads > 1 ? pool : &pool[1], MHD_OPTION_END);
    if (daemon == NULL) {
        (void)fprintf(stderr, "bench_nothing: could not start the server\n");
        return 1;
    }
    printf("%u\n", (unsigned)MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    (void)fflush(stdout);
    while (read(STDIN_FILENO, end, sizeof end) > 0) {
    }
    MHD_stop_daemon(daemon);
    return 0;
}
