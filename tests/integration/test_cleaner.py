"""The partition cleaner: store and catalog compared, orphans deleted, missing objects told; and everything that stops it."""

import json
import os
import time
import uuid
from datetime import datetime, timedelta, timezone

import pytest
from harness.life import Life
from harness.shelf import CLEANER, DELETE, FINDINGS, KILLED, OLD, REFUSED, STEP, YOUNG, Shelf, uuid7
from harness.stack import wait_until


@pytest.fixture
def shelf(stack):
    return Shelf(stack)


# --- what is what ----------------------------------------------------------------------------------------------------
def test_a_clean_store_has_no_findings(shelf):
    shelf.plant(5)
    shelf.row(active=False)  # staged: promises no object yet
    counts = shelf.clean(expect=0)
    assert (counts["objects"], counts["rows"]) == (5 + 2, 6)  # marker, and the gate's mark
    assert counts["orphans"] == counts["missing"] == counts["wrong_size"] == counts["deleted"] == 0


def test_a_dry_run_is_the_default_and_deletes_nothing(shelf):
    shelf.plant(2)
    orphan = shelf.orphan(size=100)
    counts = shelf.clean(expect=FINDINGS, env={})
    assert (counts["orphans"], counts["orphan_bytes"], counts["deleted"]) == (1, 100, 0)
    assert shelf.there(orphan) and not shelf.receipts()
    assert shelf.orphans()[orphan]["owner"] == "late upload"


def test_orphans_are_deleted_with_receipts_and_everything_else_stays(shelf):
    named = shelf.plant(3)
    young = shelf.orphan(age=YOUNG)
    foreign = ["Notes/", "a b+c%20&d/\u00e4 x", "z" * 200 + "/" + "z" * 200 + "/" + "y" * 200, "readme.txt",
               shelf.key(uuid7()) + ".bak", shelf.key(str(uuid7()).upper())]
    for key in foreign:
        if key.endswith("/"):
            (shelf.stack.store / key).mkdir()
        else:
            shelf.put(key)
    orphans = [shelf.orphan(size=10 * (number + 1)) for number in range(3)]
    probe = f"granary-probe/{uuid7(OLD)}"
    shelf.put(probe, 5)
    counts = shelf.clean(expect=0)
    assert (counts["orphans"], counts["deleted"], counts["deleted_bytes"]) == (4, 4, 65)
    assert counts["foreign"] == 5
    assert not any(shelf.there(key) for key in [*orphans, probe])
    assert all(shelf.there(key) for key in [*named, young, *foreign, "granary-deployment.json"])
    receipts = shelf.receipts()
    assert set(receipts) == {*orphans, probe} and {row["answer"] for row in receipts.values()} == {"deleted"}
    assert str(receipts[orphans[0]]["table_id"]) == str(shelf.table.id) and receipts[orphans[0]]["plan_id"] is None
    assert shelf.clean(expect=0)["orphans"] == 0 and not shelf.orphans()


def test_the_owner_of_an_orphan_is_guessed(shelf):
    shelf.plant(1)
    late, survivor, lost, theirs = (shelf.orphan(), shelf.orphan(), shelf.orphan(), shelf.orphan(table=uuid.uuid4()))
    ancient = shelf.orphan(age=30 * 86400)
    for key, days in ((late, 3), (survivor, 1)):
        shelf.stack.sql(
            "insert into granary.receipts (partition_id, table_id, path, row_count, data_bytes, min_timestamp,"
            " max_timestamp, deactivation_reason, deactivated_at, deleted_at, deleted_by, claim_token, answers)"
            " values (%s, %s, %s, 1, 1, now(), now(), 'abandoned', now(), now() - %s * interval '1 day', 'test', 1, '{}')",
            (key[-44:-8], shelf.table.id, key, days))
    shelf.stack.sql("insert into granary.lineage (child_id, parent_id, attempt_id) values (%s, %s, %s)",
                    (uuid.uuid4(), lost[-44:-8], uuid.uuid4()))
    shelf.clean(expect=FINDINGS, env={})
    assert {key: row["owner"] for key, row in shelf.orphans().items()} == {
        late: "late upload", survivor: "survived its deletion", lost: "lost row", ancient: "lost row",
        theirs: "other deployment"}
    counts = shelf.clean(expect=FINDINGS)
    assert counts["deleted"] == 4 and shelf.there(theirs)  # of a table that was never here: only by a plan


def test_a_hold_on_the_table_keeps_its_orphans(shelf):
    shelf.plant(1)
    orphan = shelf.orphan()
    shelf.stack.sql("insert into granary.holds (table_id, reason, placed_by) values (%s, 'law', 'test')",
                    (shelf.table.id,))
    assert shelf.clean(expect=FINDINGS)["kept"] == 1
    assert shelf.there(orphan)
    shelf.stack.sql("update granary.holds set released_at = now(), released_by = 'test'")
    assert shelf.clean(expect=0)["deleted"] == 1


def test_quarantine_is_counted_from_when_an_orphan_was_first_seen(shelf):
    shelf.plant(1)
    orphan = shelf.orphan()
    env = {**DELETE, "GRANARY_CLEANER_QUARANTINE": "7d"}
    for _ in range(2):
        assert shelf.clean(expect=FINDINGS, env=env)["deleted"] == 0
    shelf.stack.sql("update granary.orphans set first_seen_at = first_seen_at - interval '7 days'")
    assert shelf.clean(expect=0, env=env)["deleted"] == 1 and not shelf.there(orphan)


def test_an_orphan_that_a_backup_may_name_is_kept_for_the_tables_backup_window(stack, shelf):
    other = Shelf(stack, "other")
    shelf.plant(1)
    stack.sql("""update granary.tables set settings = '{"reaper.backup_window": "7d"}' where table_id = %s""",
              (shelf.table.id,))
    orphan, theirs = shelf.orphan(age=30 * 86400), other.orphan()
    assert shelf.clean(expect=FINDINGS)["deleted"] == 1
    for days, deleted in ((6, 0), (2, 1)):
        assert shelf.there(orphan) and not other.there(theirs)
        stack.sql("update granary.orphans set first_seen_at = first_seen_at - %s * interval '1 day'", (days,))
        assert shelf.clean(expect=0 if deleted else FINDINGS)["deleted"] == deleted
    assert not shelf.there(orphan)


@pytest.mark.allow_errors("objects of live partitions are missing")
def test_other_objects_of_a_partition_and_dropped_tables_are_named_too(shelf):
    (key,) = shelf.plant(1)
    shelf.put(key[:-8] + ".extra", 7)
    shelf.put(odd := "blobs/pack 1+2%20&\u00e4", 8)
    shelf.stack.sql("insert into granary.partition_objects (partition_id, path, kind, data_bytes)"
                    " values (%s, %s, 'pack', 8)", (key[-44:-8], odd))
    shelf.table.drop()
    counts = shelf.clean(expect=0)
    assert (counts["rows"], counts["foreign"]) == (2, 1)
    (shelf.stack.store / odd).unlink()
    assert shelf.clean(expect=FINDINGS)["missing"] == 1


# --- missing objects --------------------------------------------------------------------------------------------------
@pytest.mark.allow_errors("objects of live partitions are missing")
def test_a_missing_object_is_told_everywhere_and_its_row_stays(stack, shelf):
    stack.service("admin")
    gone, other = shelf.plant(2)
    (stack.store / gone).unlink()
    shelf.put(other, size=63)
    counts = shelf.clean(expect=FINDINGS)
    assert (counts["missing"], counts["wrong_size"]) == (1, 1)
    partition = gone[-44:-8]
    explained = stack.request("admin", "GET", f"/api/v1/partitions/{partition}/explain").json
    assert any("missing from the store since" in detail for detail in explained["details"]), explained
    cleaner = stack.request("admin", "GET", "/api/v1/status").json["cleaner"]
    assert (cleaner["missing"], cleaner["missing_live"], cleaner["orphans"]) == (1, 1, 0)
    assert "missing" in stack.cli("status")
    since = stack.sql_value("select since from granary.missing_objects")
    shelf.clean(expect=FINDINGS)
    assert stack.sql_value("select since from granary.missing_objects") == since
    shelf.put(gone)
    shelf.put(other)
    shelf.clean(expect=0)
    assert stack.sql("select * from granary.missing_objects") == []
    assert stack.sql_value("select count(*) from granary.partitions where active") == 2


def test_metrics_show_what_the_last_run_found(stack, shelf):
    shelf.plant(2)
    shelf.orphan(size=77)
    program = stack.begin(CLEANER, "--every", "1h").wait_ready()
    wait_until(lambda: "granary_cleaner_orphan_bytes 77" in program.request("GET", "/metrics").text, 120,
               "the run to be counted")
    text = program.request("GET", "/metrics").text
    assert "granary_cleaner_orphans 1" in text and "granary_cleaner_missing_objects 0" in text


# --- what stops it ----------------------------------------------------------------------------------------------------
def stop_by_pause(shelf):
    shelf.stack.sql("update granary.deployment set deleting_paused_at = now(), deleting_paused_by = 'test',"
                    " deleting_paused_reason = 'test'")


def stop_by_another_deployments_marker(shelf):
    (shelf.stack.store / "granary-deployment.json").write_text(json.dumps({"deployment_id": str(uuid.uuid4())}))


def stop_by_no_marker(shelf):
    (shelf.stack.store / "granary-deployment.json").unlink()


def stop_by_an_empty_catalog(shelf):
    shelf.lose_rows()


def stop_by_a_restored_catalog(shelf):
    """Yesterday's: half of the rows are not in it yet."""
    paths = [row["path"] for row in shelf.stack.sql("select path from granary.partitions order by 1")]
    shelf.lose_rows(paths[:len(paths) // 2])


def stop_by_too_many_orphans(shelf):
    for _ in range(2):
        shelf.orphan()


@pytest.mark.allow_errors("deleting is refused", "deleting orphans is refused")
@pytest.mark.parametrize("stop, word", [
    (stop_by_pause, "paused"),
    (stop_by_another_deployments_marker, "expected the marker of deployment"),
    (stop_by_no_marker, "found none"),
    (stop_by_an_empty_catalog, "the catalog has none"),
    (stop_by_a_restored_catalog, "of the run before"),
    (stop_by_too_many_orphans, "10 % orphans at most"),
], ids=lambda part: getattr(part, "__name__", ""))
def test_a_rule_stops_the_deleting(shelf, stop, word):
    env = {"GRANARY_CLEANER_DELETE": "true"}
    shelf.plant(16)
    shelf.clean(expect=0, env=env)
    orphan = shelf.orphan()
    stop(shelf)
    files = shelf.stack.objects()
    shelf.clean(expect=REFUSED, env=env)
    assert word in shelf.last_run()["error"]
    shelf.clean(expect=REFUSED, env=env)  # and again: what was refused is no measure for the next run
    assert shelf.there(orphan) and shelf.stack.objects() == files and not shelf.receipts()


def test_rows_that_were_reaped_with_receipts_are_no_shrinking(shelf):
    keys = shelf.plant(4)
    shelf.clean(expect=0)
    shelf.lose_rows(keys[:3])
    for key in keys[:3]:
        (shelf.stack.store / key).unlink()
        shelf.stack.sql(
            "insert into granary.receipts (partition_id, table_id, path, row_count, data_bytes, min_timestamp,"
            " max_timestamp, deactivation_reason, deactivated_at, deleted_by, claim_token, answers)"
            " values (%s, %s, %s, 1, 1, now(), now(), 'decay', now(), 'test', 1, '{}')",
            (key[-44:-8], shelf.table.id, key))
    orphan = shelf.orphan()
    assert shelf.clean(expect=0)["deleted"] == 1 and not shelf.there(orphan)


@pytest.mark.allow_errors("run failed")
def test_a_catalog_that_goes_away_in_the_middle_costs_nothing_but_time(stack, shelf, tmp_path):
    proxy = stack.proxy("catalog")
    shelf.plant(3)
    orphans = [shelf.orphan() for _ in range(3)]
    held = tmp_path / "held"
    program = stack.begin(CLEANER, env=STEP, fault=f"cleaner.after_save=hold:{held}")
    wait_until(held.exists, 120, "the cleaner to be in the middle")
    proxy.refuse()
    held.unlink()
    assert program.wait_exit(60) == 1
    proxy.restore()
    assert all(map(shelf.there, orphans)) and not shelf.receipts()
    counts = shelf.clean(expect=0)
    assert counts["resumed"] == 1 and (counts["orphans"], counts["deleted"]) == (3, 3)


@pytest.mark.allow_errors("run failed")
def test_a_catalog_that_goes_away_in_the_middle_of_deleting_is_told_by_the_receipt(stack, shelf, tmp_path):
    """Announced, deleted, and nobody to hear the answer."""
    proxy = stack.proxy("catalog")
    named = shelf.plant(3)
    orphans = sorted(shelf.orphan() for _ in range(3))
    held = tmp_path / "held"
    program = stack.begin(CLEANER, env=STEP, fault=f"cleaner.before_delete=hold:{held}")
    wait_until(held.exists, 120, "the first to be announced")
    proxy.refuse()
    held.unlink()
    assert program.wait_exit(120) == 1
    proxy.restore()
    assert [shelf.there(key) for key in orphans] == [False, True, True]
    assert {path: row["answer"] for path, row in shelf.receipts().items()} == {orphans[0]: None}
    assert shelf.clean(expect=0)["deleted"] == 2
    assert set(shelf.receipts()) == set(orphans) and not any(map(shelf.there, orphans))
    assert all(map(shelf.there, named))


def test_a_row_that_appears_before_the_delete_saves_its_object(stack, shelf, tmp_path):
    """A writer that was slower than the grace."""
    shelf.plant(1)
    late, orphan = sorted([shelf.orphan(), shelf.orphan()])
    held = tmp_path / "held"
    program = stack.begin(CLEANER, env=DELETE, fault=f"cleaner.after_finish=hold:{held}")
    wait_until(held.exists, 120, "the comparison to be over")
    shelf.row(partition=late[-44:-8])
    held.unlink()
    assert program.wait_exit(60) == FINDINGS
    assert shelf.there(late) and not shelf.there(orphan)
    assert shelf.clean(expect=0)["orphans"] == 0


def test_a_pause_in_the_middle_of_deleting_stops_it(stack, shelf, tmp_path):
    shelf.plant(1)
    orphans = [shelf.orphan() for _ in range(3)]
    held = tmp_path / "held"
    stack.allow_errors("run failed")
    program = stack.begin(CLEANER, env=STEP, fault=f"cleaner.after_delete=hold:{held}")
    wait_until(held.exists, 120, "the first to be deleted")
    stop_by_pause(shelf)
    held.unlink()
    assert program.wait_exit(60) == 1
    assert sum(map(shelf.there, orphans)) == 2


def test_two_cleaners_do_not_get_in_each_others_way(stack, shelf, tmp_path):
    shelf.plant(1)
    shelf.orphan()
    held = tmp_path / "held"
    first = stack.begin(CLEANER, env=STEP, fault=f"cleaner.after_save=hold:{held}")
    wait_until(held.exists, 120, "the first to be in the middle")
    assert shelf.clean(expect=0)["objects"] == 0
    held.unlink()
    assert first.wait_exit(60) == 0
    assert len(shelf.receipts()) == 1


# --- interruptions ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("point, resumed, receipts", [
    ("cleaner.after_save=kill@2", 1, 3), ("cleaner.before_finish=kill", 1, 3), ("cleaner.before_delete=kill", 0, 4),
])
def test_a_run_that_was_killed_is_gone_on_with(shelf, point, resumed, receipts):
    named = shelf.plant(4)
    orphans = [shelf.orphan() for _ in range(3)]
    shelf.clean(expect=KILLED, env=STEP, fault=point)
    counts = shelf.clean(expect=0, env=STEP)
    assert counts["resumed"] == resumed
    assert not any(map(shelf.there, orphans)) and all(map(shelf.there, named))
    assert set(shelf.receipts()) == set(orphans)
    assert shelf.stack.sql_value("select count(*) from granary.orphan_receipts") == receipts
    if resumed:
        assert (counts["rows"], counts["orphans"]) == (4, 3)  # nothing twice, nothing left out


def test_a_run_that_was_interrupted_too_long_ago_is_not_gone_on_with(shelf):
    shelf.plant(2)
    shelf.orphan()
    shelf.clean(expect=KILLED, env=STEP, fault="cleaner.after_save=kill")
    shelf.stack.sql("update granary.cleaner_runs set started_at = started_at - interval '25 hours'")
    assert shelf.clean(expect=0)["resumed"] == 0


def test_what_the_cleaner_keeps_is_pruned_but_for_the_run_to_compare_with(stack, shelf):
    shelf.plant(1)
    shelf.orphan()
    for _ in range(3):
        shelf.clean()
    stack.sql("update granary.cleaner_runs set saved_at = saved_at - interval '40 days'")
    stack.sql("update granary.orphan_receipts set deleted_at = deleted_at - interval '500 days'")
    stack.job("merge-cleanup")
    assert stack.sql_value("select count(*) from granary.orphan_receipts") == 0
    assert stack.sql_value("select array_agg(verdict is null) from granary.cleaner_runs") == [True]


# --- neighbours -------------------------------------------------------------------------------------------------------
def test_deployments_whose_prefixes_begin_alike_leave_each_other_alone(servers, stack, shelf, tmp_path):
    """One below the other, and one whose name begins with the other's."""
    root = stack.store / "live"
    env = {**DELETE, "GRANARY_STORE_URL": f"file://{root}"}
    deployment = str(stack.sql_value("select deployment_id from granary.deployment"))
    keys = shelf.plant(3)
    for key in keys:
        shelf.put(key, root=root)
    (root / "granary-deployment.json").write_text(json.dumps({"deployment_id": deployment}))
    orphan = shelf.put(shelf.key(uuid7(OLD)), root=root)
    theirs = [shelf.put(shelf.key(uuid7(OLD), table=uuid.uuid4()), root=place)
              for place in (root / "below", stack.store / "live-2", stack.store / "liv")]
    (root / "below/granary-deployment.json").write_text(json.dumps({"deployment_id": str(uuid.uuid4())}))
    counts = shelf.clean(expect=0, env=env)
    assert (counts["deleted"], counts["foreign"]) == (1, 2)
    assert not orphan.exists() and all(path.exists() for path in theirs)


def test_each_storage_is_compared_with_its_own_rows(stack, shelf, tmp_path):
    second = tmp_path / "second"
    second.mkdir()
    (second / "granary-deployment.json").write_text((stack.store / "granary-deployment.json").read_text())
    stack.sql("insert into granary.storages (name, url, created_by) values ('second', %s, 'test')", (f"file://{second}",))
    first, _ = shelf.plant(2)
    theirs = shelf.put(shelf.row(storage=2), root=second)
    orphan = shelf.put(shelf.key(uuid7(OLD)), root=second)
    copy = shelf.put(first, root=second)  # named, though in the other storage
    counts = shelf.clean(expect=0)
    assert (counts["rows"], counts["deleted"], counts["missing"]) == (3, 1, 0)
    assert theirs.exists() and copy.exists() and not orphan.exists()
    theirs.unlink()
    stack.allow_errors("objects of live partitions are missing")
    assert shelf.clean(expect=FINDINGS)["missing"] == 1


def test_nothing_is_found_after_a_whole_life(stack):
    """Every object that any service has written is one that the cleaner knows."""
    life = Life(stack)
    life.live_through()
    stack.sql("update granary.cleaner_runs set position = ''")
    for path in stack.store.rglob("*.parquet"):
        os.utime(path, (time.time() - OLD,) * 2)
    stack.job(CLEANER, env={"GRANARY_CLEANER_DELETE": "true"}, expect=0)
    counts = stack.sql_value("select counts from granary.job_runs where job = %s", (CLEANER,))
    assert counts["objects"] > 0 and counts["rows"] > 0 and counts["foreign"] == 0


# --- by hand ----------------------------------------------------------------------------------------------------------
def test_fsck_reports_everything_and_changes_nothing(stack, shelf):
    stack.service("admin")
    gone, other = shelf.plant(2)
    (stack.store / gone).unlink()
    shelf.put(other, size=63)
    orphan, young = shelf.orphan(size=1000), shelf.orphan(age=YOUNG)
    shelf.put("notes.txt")
    report = stack.cli("fsck", expect=FINDINGS)
    for part in ("CLASS", "orphan", "missing", "wrong size", "young", "foreign", "late upload", orphan, gone, other):
        assert part in report, report
    lines = [json.loads(line) for line in stack.cli("fsck", "--output", "json", expect=FINDINGS).splitlines()]
    assert {line["finding"]["path"]: line["finding"]["class"] for line in lines if "finding" in line} == {
        orphan: "orphan", young: "young", gone: "missing", other: "wrong size", "notes.txt": "foreign"}
    summary = lines[-1]["summary"]
    assert (summary["findings"], summary["rows"]) == (3, 2)
    assert {tally["class"]: tally["count"] for tally in summary["classes"]}["orphan"] == 1
    assert shelf.there(orphan) and not shelf.orphans() and not shelf.receipts()


def test_fsck_of_a_table_looks_at_no_other(stack, shelf):
    stack.service("admin")
    other = Shelf(stack, "other")
    shelf.plant(1)
    orphan = shelf.orphan()
    other.plant(2)
    other.orphan()
    lines = [json.loads(line) for line in
             stack.cli("fsck", "--table", "demo.usr", "--output", "json", expect=FINDINGS).splitlines()]
    assert [line["finding"]["path"] for line in lines if "finding" in line] == [orphan]
    assert (lines[-1]["summary"]["objects"], lines[-1]["summary"]["rows"]) == (2, 1)
    assert "no table" in stack.cli("fsck", "--table", "demo.none", expect=1)


def test_a_plan_of_orphans_is_looked_at_and_applied_with_each_looked_up_again(stack, shelf):
    stack.service("admin")
    shelf.plant(1)
    orphans = sorted(shelf.orphan(size=10) for _ in range(3))
    theirs = shelf.orphan(table=uuid.uuid4())
    report = stack.cli("plan", "orphans")
    plan = str(stack.sql_value("select plan_id from granary.plans"))
    assert f"granary apply {plan} --yes deletes 4 objects" in report
    look = stack.cli("apply", plan)
    assert all(key in look for key in [*orphans, theirs]) and all(map(shelf.there, orphans))
    shelf.row(partition=orphans[0][-44:-8], size=10)
    answer = json.loads(stack.cli("apply", plan, "--yes", "--output", "json", expect=FINDINGS).splitlines()[0])
    assert (answer["deleted"], answer["bytes"]) == (3, 20 + 64)
    assert answer["skipped"] == [{"path": orphans[0], "reason": "kept: a row names it"}]
    assert shelf.there(orphans[0]) and not any(map(shelf.there, [*orphans[1:], theirs]))
    receipts = shelf.receipts()
    assert {str(row["plan_id"]) for row in receipts.values()} == {plan} and len(receipts) == 3
    assert "applied already" in stack.cli("apply", plan, "--yes", expect=REFUSED)
    shown = stack.request("admin", "GET", f"/api/v1/plans/{plan}").json
    assert shown["kind"] == "orphans" and shown["outcome"] == {"deleted": 3, "bytes": 84, "kept": 1}


def test_a_plan_of_one_table_names_only_its_orphans(stack, shelf):
    stack.service("admin")
    other = Shelf(stack, "other")
    shelf.orphan()
    other.orphan()
    assert "deletes 1 objects" in stack.cli("plan", "orphans", "demo.other")
    assert stack.sql_value("select path from granary.plan_orphans").startswith(str(other.table.id))


@pytest.mark.parametrize("stop, word", [(stop_by_pause, "paused"), (stop_by_no_marker, "found none")],
                         ids=lambda part: getattr(part, "__name__", ""))
def test_a_plan_of_orphans_is_not_applied_while_a_rule_says_no(stack, shelf, stop, word):
    stack.service("admin")
    orphan = shelf.orphan()
    stack.cli("plan", "orphans")
    plan = str(stack.sql_value("select plan_id from granary.plans"))
    stop(shelf)
    assert word in stack.cli("apply", plan, "--yes", expect=REFUSED)
    assert shelf.there(orphan)
    assert stack.sql_value("select applied_at from granary.plans") is None


def test_a_restore_to_a_time_would_miss_what_was_live_then_and_is_gone(stack, shelf):
    stack.service("admin")
    kept, lost = shelf.plant(2)
    (stack.store / lost).unlink()
    now = datetime.now(timezone.utc)
    gone = {}
    for name, made_days, gone_days in (("then live", 10, 2), ("then dead", 10, 6), ("not yet there", 3, 2)):
        key = gone[name] = shelf.key(uuid7(made_days * 86400))
        stack.sql(
            "insert into granary.receipts (partition_id, table_id, path, row_count, data_bytes, min_timestamp,"
            " max_timestamp, deactivation_reason, deactivated_at, deleted_at, deleted_by, claim_token, answers)"
            " values (%s, %s, %s, 5, 50, now(), now(), 'decay', %s, %s, 'test', 1, '{}')",
            (key[-44:-8], shelf.table.id, key, now - timedelta(days=gone_days), now - timedelta(days=1)))

    def against(time):
        text = time.isoformat().replace("+00:00", "Z")
        lines = stack.cli("fsck", "--against", text, "--output", "json", expect=FINDINGS).splitlines()
        return {line["finding"]["path"] for line in map(json.loads, lines) if "finding" in line}

    assert against(now - timedelta(days=4)) == {gone["then live"]}  # the planted rows were not there yet
    assert against(now + timedelta(minutes=1)) == {lost}
    assert "receipts reach back to" in stack.cli("fsck", "--against", "-4d", expect=FINDINGS)
