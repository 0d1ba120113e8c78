/* A TCP proxy on loopback in front of the broker, to lose connections at will. */
#ifndef GRANARY_TESTS_BUS_PROXY_H
#define GRANARY_TESTS_BUS_PROXY_H

#include "common/base/cleanup.h"

struct proxy;
struct proxy *proxy_open(const char *broker_url); /* ends the program when it cannot */
const char *proxy_url(const struct proxy *proxy); /* the broker's URL through the proxy */
void proxy_cut(struct proxy *proxy);              /* closes every connection; new ones are taken */
void proxy_close(struct proxy *proxy);
DEFINE_AUTO(struct proxy, proxy_close)

#endif
