#include <string.h>

#include "common/base/clock.h"
#include "common/bus/bus.h"

static enum err_code parse_delays(const char *text, int64_t delays_us[BUS_LADDER_STEPS], struct error *err)
{
    char copy[128];
    int64_t parsed_us[BUS_LADDER_STEPS];
    size_t step = 0;
    char *rest = copy;
    if (strlen(text) >= sizeof copy) {
        return err_set(err, ERR_INVALID, "expected four delays in GRANARY_BUS_DELAYS but found %zu characters",
                       strlen(text));
    }
    memcpy(copy, text, strlen(text) + 1);
    for (char *part = strsep(&rest, ","); part != NULL; part = strsep(&rest, ",")) {
        int64_t delay_us = 0;
        if (step == BUS_LADDER_STEPS || clock_parse_duration(part, &delay_us, err) != OK || delay_us < 1000 ||
            delay_us > 24 * CLOCK_HOUR_US || (step > 0 && delay_us < parsed_us[step - 1])) {
            return err_set(err, ERR_INVALID,
                           "expected four rising delays from 1ms to 24h in GRANARY_BUS_DELAYS but found \"%s\"; "
                           "hint: \"10s,1m,10m,1h\"",
                           text);
        }
        parsed_us[step++] = delay_us;
    }
    if (step != BUS_LADDER_STEPS) {
        return err_set(err, ERR_INVALID, "expected four delays in GRANARY_BUS_DELAYS but found %zu in \"%s\"", step,
                       text);
    }
    memcpy(delays_us, parsed_us, sizeof parsed_us);
    return OK;
}

enum err_code bus_options_of(const struct config_bus *config, const char *client_name, struct bus_options *out,
                             struct error *err)
{
    struct bus_options options = {
        .url = config->url,
        .password = config->password,
        .ca_file = config->ca_file,
        .client_name = client_name,
    };
    TRY(parse_delays(config->delays, options.delays_us, err));
    *out = options;
    return OK;
}
