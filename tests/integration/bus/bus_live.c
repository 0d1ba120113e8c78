/* The bus against a real RabbitMQ: GRANARY_BUS_URL names a vhost that this program may fill. */
#include "tests/integration/bus/live.h"

int main(void)
{
    int failed = run_publish_tests();
    failed += run_consume_tests();
    failed += run_dead_tests();
    return failed == 0 ? 0 : 1;
}
