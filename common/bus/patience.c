#include "common/base/clock.h"
#include "common/bus/bus.h"

#define TRY_AGAIN_US CLOCK_SECOND_US

enum err_code bus_declare_patiently(const struct bus_options *options, const struct bus_queue_spec *queues,
                                    size_t count, bus_wait_fn *wait, void *context, struct error *err)
{
    for (;;) {
        enum err_code code = bus_declare(options, queues, count, err);
        if (code != ERR_UNAVAILABLE && code != ERR_TIMEOUT) {
            return code;
        }
        if (wait(context, TRY_AGAIN_US) == ERR_STOPPED) {
            return err_wrap(err, "stopped while waiting for RabbitMQ");
        }
    }
}
