"""A table to post rows to and read them back from. It is made in the catalog, without the help of a service."""

import base64
import json
import uuid
from urllib.parse import quote, urlencode

from .scan import scan
from .stack import INTAKE, wait_until

PROJECT = "demo"
COLUMNS = {"ts": "timestamp", "path": "string", "size": "int64"}
REJECTS_COLUMNS = {"received_at": "timestamp", "batch_id": "uuid", "row": "int64", "column": "string",
                   "reason": "string", "text": "bytes"}
NEVER_NULL = ("ts", "received_at", "batch_id", "row", "reason", "text")
NDJSON = "application/x-ndjson"
# Of a table whose few partitions are merged at once, into one.
MERGING = {"merge.min_inputs": "2", "merge.medium.max_age": "1d", "merge.large.max_age": "1d"}


def ndjson(rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def some_rows(count, first=0, day="2026-11-01"):
    """Rows whose sizes are first, first + 1, ...; all in one day."""
    return [{"ts": f"{day}T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z", "path": f"/usr/{number}",
             "size": number} for number in range(first, first + count)]


class Table:
    """Its timestamp column is the first. `settings` are those of the table: {"partition.width": "1h"}."""

    def __init__(self, stack, name="usr", columns=None, settings=None, table_id=None):
        self.stack = stack
        self.name = f"{PROJECT}.{name}"
        self.id, self.rejects_id = table_id or uuid.uuid4(), uuid.uuid4()
        self._create(self.id, name, "user", None, columns or COLUMNS, settings or {})
        self._create(self.rejects_id, f"{name}$rejects", "rejects", self.id, REJECTS_COLUMNS, {})

    def _create(self, table_id, name, kind, parent, columns, settings):
        sql = self.stack.sql
        definition = {"version": 1, "timestamp": next(iter(columns)), "columns": [
            {"id": number, "name": column, "type": type_, "nullable": column not in NEVER_NULL}
            for number, (column, type_) in enumerate(columns.items(), 1)]}
        sql("insert into granary.tables (table_id, project, name, kind, parent_id, schema_version, settings, created_by)"
            " values (%s, %s, %s, %s, %s, 1, %s, 'test')",
            (table_id, PROJECT, name, kind, parent, json.dumps(settings)))
        sql("insert into granary.table_schemas (table_id, version, definition) values (%s, 1, %s)",
            (table_id, json.dumps(definition)))

    def drop(self):
        self.stack.sql("update granary.tables set dropped_at = clock_timestamp(), dropped_by = 'test'"
                       " where table_id in (%s, %s)", (self.id, self.rejects_id))

    # --- writing ---------------------------------------------------------------------------------------------------
    def post(self, body, key=None, committed=False, timeout=None, headers=None, **options):
        """One request. `body`: a list of rows becomes NDJSON; anything else goes as it is."""
        query = {"wait": "committed", "timeout": timeout or "200s"} if committed else {}
        sent = {"Content-Type": NDJSON, **({"Idempotency-Key": key} if key else {}), **(headers or {})}
        return self.stack.request(INTAKE, "POST", f"/v1/tables/{quote(self.name)}/rows?{urlencode(query)}",
                                  ndjson(body) if isinstance(body, list) else body, sent,
                                  **{"token": "writer", **options})

    def load(self, body, query=None, key=None, headers=None):
        """A load of one request. `body` as for post."""
        sent = {"Content-Type": NDJSON, **({"Idempotency-Key": key} if key else {}), **(headers or {})}
        return self.stack.request(INTAKE, "POST", f"/v1/tables/{quote(self.name)}/load?{urlencode(query or {})}",
                                  ndjson(body) if isinstance(body, list) else body, sent, "writer")

    def land(self, body, **options):
        """Posts, and waits until the rows are queryable."""
        answer = self.post(body, committed=True, **options)
        assert answer.status == 200 and answer.json["committed"], answer
        return answer

    # --- reading ---------------------------------------------------------------------------------------------------
    def rows(self):
        """All that a query sees."""
        return self._read(self.name)

    def sizes(self):
        """The column that names a row of some_rows, in order: lost and doubled ones show."""
        return sorted(row["size"] for row in self.rows())

    def rejects(self):
        """In the order of their requests and rows; `text` is bytes."""
        rejects = sorted(self._read(f"{self.name}$rejects"), key=lambda reject: (reject["received_at"], reject["row"]))
        return [{**reject, "text": base64.b64decode(reject["text"])} for reject in rejects]

    def row_count(self):
        """By the catalog alone."""
        return int(self.stack.sql_value("select coalesce(sum(row_count), 0) from granary.partitions"
                                        " where table_id = %s and active", (self.id,)))

    def wait_rows(self, count, seconds=240):
        wait_until(lambda: self.row_count() >= count, seconds, f"{count} rows in {self.name}")

    def _read(self, name):
        return [json.loads(line) for line in scan(self.stack, name)]
