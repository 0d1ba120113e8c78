#include "common/base/fault.h"

#ifdef GRANARY_FAULTS

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_RULES = 16, NAME_BYTES = 80 };

static atomic_int hits[MAX_RULES]; /* by the rule's place in GRANARY_FAULT: test builds only */

static void record(const char *name)
{
    const char *path = getenv("GRANARY_FAULT_FIRED");
    int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
    if (fd >= 0) {
        char line[NAME_BYTES + 2];
        int length = snprintf(line, sizeof line, "%s\n", name);
        if (write(fd, line, (size_t)length) != length) {
            abort(); /* a test must not take a fault for one that never fired */
        }
        (void)close(fd);
    }
}

static void hold_at(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) {
        abort();
    }
    (void)close(fd);
    while (access(path, F_OK) == 0) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
}

static bool act(const char *name, const char *action)
{
    record(name);
    if (strncmp(action, "kill", 4) == 0) {
        (void)kill(getpid(), SIGKILL);
        for (;;) {
            (void)pause();
        }
    }
    if (strncmp(action, "hold:", 5) == 0) {
        hold_at(action + 5);
        return false;
    }
    return strncmp(action, "fail", 4) == 0;
}

bool fault_hit(const char *name)
{
    const char *rules = getenv("GRANARY_FAULT");
    size_t name_length = strlen(name);
    for (int i = 0; rules != NULL && *rules != '\0' && i < MAX_RULES; i++) {
        size_t length = strcspn(rules, ",");
        if (length > name_length && strncmp(rules, name, name_length) == 0 && rules[name_length] == '=') {
            char action[256];
            (void)snprintf(action, sizeof action, "%.*s", (int)(length - name_length - 1), rules + name_length + 1);
            char *at = strchr(action, '@');
            int wanted = at != NULL ? atoi(at + 1) : 1;
            if (at != NULL) {
                *at = '\0';
            }
            if (atomic_fetch_add(&hits[i], 1) + 1 == wanted) {
                return act(name, action);
            }
        }
        rules += length + (rules[length] == ',');
    }
    return false;
}

#endif
