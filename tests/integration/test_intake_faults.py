"""What becomes of rows when something breaks: whatever was confirmed lands, and lands once."""

import threading
from http.client import HTTPException

import pytest
from harness.invariants import check_always
from harness.stack import wait_until
from harness.table import Table, some_rows

HEAD = {"GRANARY_INTAKE_ROLE": "head"}
WRITER = {"GRANARY_INTAKE_ROLE": "writer"}
QUICK = {"GRANARY_WRITER_MAX_OPEN": "10ms"}


def land_all(stack, table, count):
    """Waits until the queue is empty and the rows are there; then each must be there once."""
    wait_until(lambda: stack.queue_length("intake") == 0 and table.row_count() >= count, 60, f"{count} rows to land")
    assert table.sizes() == list(range(count))
    check_always(stack)


class Poster:
    """A client that posts batch after batch, ten rows each, numbered from `first`. With keys it repeats a batch until it is
    confirmed; without, a batch that was not confirmed may be there or not."""

    ROWS = 10

    def __init__(self, table, first=0, keyed=True):
        self.table, self.first, self.keyed = table, first, keyed
        self.confirmed = []  # numbers of rows
        self.refused = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._post_all)
        self._thread.start()

    def _post_all(self):
        number = 0
        while not self._stop.is_set():
            first = self.first + number * self.ROWS
            confirmed = self._post(number, some_rows(self.ROWS, first))
            if confirmed:
                self.confirmed += range(first, first + self.ROWS)
            else:
                self.refused += 1
                self._stop.wait(0.02)  # an outage is not to be a busy loop
            if confirmed or not self.keyed:
                number += 1

    def _post(self, number, rows):
        key = f"batch {self.first} {number}" if self.keyed else None
        try:
            return self.table.post(rows, key=key).status in (200, 202)
        except (OSError, HTTPException, AttributeError):  # nobody listens, or the process ended in the middle
            return False

    def wait_confirmed(self, more, seconds=240):
        wanted = len(self.confirmed) + more
        wait_until(lambda: len(self.confirmed) >= wanted, seconds, f"{more} more rows to be confirmed")

    def stop(self):
        self._stop.set()
        self._thread.join()
        return self.confirmed


# --- the process dies or its commit is uncertain ----------------------------------------------------------------------

@pytest.mark.parametrize("key", [None, "one"], ids=["unkeyed", "keyed"])
def test_a_message_that_comes_again_after_its_commit_lands_once(stack, key):
    table = Table(stack)
    stack.service("intake", env=HEAD)
    assert table.post(some_rows(100), key=key).status == 202
    writer = stack.service("intake", env=WRITER, fault="writer.before_ack=kill")
    assert writer.wait_exit() == -9 and writer.fired() == ["writer.before_ack"]
    assert table.row_count() == 100
    wait_until(lambda: stack.queue_length("intake") == 1, 10, "the message to come back")
    writer = stack.service("intake", env=WRITER)
    wait_until(lambda: writer.metric("granary_writer_duplicate_batches_total") == 1, 120, "the duplicate to be known")
    land_all(stack, table, 100)


@pytest.mark.parametrize("fault", ["commit_lost", "commit_never_sent"])
@pytest.mark.parametrize("commit", [1, 2], ids=["stage", "publish"])
def test_a_commit_whose_answer_is_lost_is_looked_up(stack, fault, commit):
    table = Table(stack)
    stack.mark()
    intake = stack.service("intake", fault=f"catalog.{fault}=fail@{commit}", wait=True)
    table.land(some_rows(100), key="one")
    assert intake.fired() == [f"catalog.{fault}"]
    table.land(some_rows(100, 100), key="two")
    land_all(stack, table, 200)
    assert table.post(some_rows(100), key="one").json["duplicate"]


def test_sigterm_loses_nothing_that_was_confirmed(stack):
    table = Table(stack)
    settings = {"GRANARY_INTAKE_LINGER": "20ms", **QUICK}
    stack.service("intake", env=settings)
    posters = [Poster(table, lane * 1_000_000, keyed=False) for lane in range(4)]
    for _ in range(3):
        posters[0].wait_confirmed(30)
        assert stack.find("intake").stop() == 0
        stack.service("intake", env=settings)
    confirmed = {size for poster in posters for size in poster.stop()}
    wait_until(lambda: stack.queue_length("intake") == 0 and table.row_count() >= len(confirmed), 120, "all to land")
    found = table.sizes()
    assert len(found) == len(set(found)), "rows were doubled"
    assert confirmed <= set(found), "confirmed rows were lost"


# --- servers go away ----------------------------------------------------------------------------------------------

def test_servers_that_are_stopped_and_started_again_lose_and_double_nothing(own_stack):
    """RabbitMQ restarted, PostgreSQL stopped for a while, both at once, with requests coming all the time."""
    table = Table(own_stack)
    own_stack.service("intake", env=QUICK)
    postgres, broker = own_stack.servers.local.postgres, own_stack.servers.local.broker
    poster = Poster(table)
    for servers in ((broker,), (postgres,), (postgres, broker)):
        poster.wait_confirmed(100)
        refused = poster.refused
        for server in servers:
            server.stop()
        wait_until(lambda: poster.refused > refused, 120, "a request to be refused")
        for server in servers:
            server.start()
        for server in servers:
            server.wait_ready()
    poster.wait_confirmed(100)
    count = len(poster.stop())
    own_stack.reconnect()
    land_all(own_stack, table, count)


def test_while_the_catalog_is_away_known_tables_take_rows_without_a_key(stack):
    table, unknown = Table(stack), Table(stack, "unknown")
    wire = stack.proxy("catalog")
    stack.service("intake", env=QUICK)
    table.land(some_rows(10))
    wire.refuse()
    assert table.post(some_rows(10, 10)).status == 202
    for refused in (table.post(some_rows(1), key="one"), unknown.post(some_rows(1))):
        assert refused.status == 503 and refused.json["error"]["code"] == "unavailable", refused
        assert int(refused.headers["Retry-After"]) >= 1
    waiting = table.post(some_rows(10, 20), committed=True, timeout="100ms")
    assert waiting.status == 504 and waiting.json["committed"] is False
    wire.restore()
    land_all(stack, table, 30)
    table.land(some_rows(10, 30), key="one")
    assert table.sizes() == list(range(40))


def test_while_the_broker_is_away_posts_get_503_and_the_writer_goes_on_after_it(stack):
    table = Table(stack)
    wire = stack.proxy("bus")
    intake = stack.service("intake", env=QUICK)
    table.land(some_rows(10))
    wire.refuse()
    answer = table.post(some_rows(10, 10), key="one")
    assert answer.status == 503 and int(answer.headers["Retry-After"]) >= 1, answer
    assert intake.request("GET", "/readyz").status == 503
    wire.restore()
    intake.wait_ready()
    table.land(some_rows(10, 10), key="one")
    land_all(stack, table, 20)


def test_a_full_disk_holds_rows_until_there_is_room(stack):
    table = Table(stack)
    stack.mark()
    intake = stack.service("intake", fault="store.disk_full=fail", wait=True)
    table.land(some_rows(100))
    assert intake.fired() == ["store.disk_full"]
    assert intake.metric("granary_writer_failed_flushes_total") == 1
    assert [line["level"] for line in intake.log(message="rows cannot be written now and are held")] == ["warn"]
    assert intake.log(message="writing goes on")
    land_all(stack, table, 100)
    given_up = stack.sql("select deactivation_reason, active, lock_id from granary.partitions where not active")
    assert given_up == [{"deactivation_reason": "abandoned", "active": False, "lock_id": None}]


# --- messages that cannot be written -----------------------------------------------------------------------------------

def dead(stack):
    """The reasons of what lies in the dead queue; takes it out."""
    return [properties.headers["x-granary-reason"] for properties, _ in stack.messages("intake.dead")]


def wait_dead(stack, count):
    wait_until(lambda: stack.queue_length("intake.dead") == count, 120, f"{count} messages in the dead queue")


@pytest.mark.allow_errors("a message cannot be written and goes to the dead queue")
def test_rows_for_a_dropped_table_go_to_the_dead_queue_and_others_land(stack):
    table, dropped = Table(stack), Table(stack, "dropped")
    head = stack.service("intake", env=HEAD)
    assert dropped.post(some_rows(10)).status == 202
    assert table.post(some_rows(10)).status == 202
    dropped.drop()
    writer = stack.service("intake", env=WRITER)
    wait_dead(stack, 1)
    land_all(stack, table, 10)
    assert "was dropped" in dead(stack)[0]
    assert writer.metric("granary_writer_dead_messages_total") == 1
    wait_until(lambda: dropped.post(some_rows(1)).status == 404, 10, "the head to know that the table is gone")
    assert head.running


@pytest.mark.allow_errors("a message cannot be written and goes to the dead queue")
def test_poisoned_messages_go_to_the_dead_queue_and_harm_no_other(stack):
    table = Table(stack)
    stack.service("intake", env=HEAD)
    for number in range(3):
        assert table.post(some_rows(10, 10 * number)).status == 202
    good = stack.messages("intake")
    whole = good[0][1]
    flipped = whole[:-20] + bytes([whole[-20] ^ 1]) + whole[-19:]
    poison = (b"", b"garbage", whole[:-9], flipped, whole + b"more", b"GRI1" + bytes(60))
    for number, body in enumerate(poison):
        stack.publish("intake", body, type="intake.v1")
        if number < len(good):
            stack.publish("intake", good[number][1], type="intake.v1")
    stack.service("intake", env=WRITER)
    wait_dead(stack, len(poison))
    land_all(stack, table, 30)
    assert all(dead(stack)), "each says why"


@pytest.mark.allow_errors("a message cannot be written and goes to the dead queue")
def test_a_message_near_the_horizon_of_its_id_is_never_committed(stack):
    table = Table(stack, settings={"idempotency.horizon": "8h"})
    stack.service("intake", env=HEAD)
    assert table.post(some_rows(10)).status == 202
    (properties, body), = stack.messages("intake")
    published_us = properties.headers["x-granary-published-us"]
    for hours, first in ((6, True), (7.1, False)):
        stack.publish("intake", body, type="intake.v1", message_id=properties.message_id,
                      headers={"x-granary-published-us": published_us - int(hours * 3600e6)})
        if first:
            stack.service("intake", env=WRITER)
            land_all(stack, table, 10)
    wait_dead(stack, 1)
    assert "idempotency.horizon" in dead(stack)[0]
    assert table.sizes() == list(range(10))


def test_a_batch_that_came_back_three_times_is_written_alone(stack):
    table = Table(stack)
    stack.service("intake", env=HEAD)
    for number in range(3):
        assert table.post(some_rows(10, 10 * number)).status == 202
    channel = stack.channel()
    others = [channel.basic_get("intake")[0].delivery_tag for _ in range(2)]
    for _ in range(3):
        channel.basic_reject(channel.basic_get("intake")[0].delivery_tag, requeue=True)
    for tag in others:
        channel.basic_reject(tag, requeue=True)
    stack.service("intake", env={**WRITER, "GRANARY_WRITER_WORKERS": "1", "GRANARY_WRITER_MAX_OPEN": "2s"})
    land_all(stack, table, 30)
    rows = stack.sql("select row_count from granary.partitions where table_id = %s order by 1", (table.id,))
    assert [row["row_count"] for row in rows] == [10, 20]
