// SQL in, rows out. Reads {"threads": N, "statements": [SQL...]} from the standard input and writes
// {"seconds": [of each statement], "rows": [of the last one], "rss_kib": the most memory that it took}.
// Values come as JSON has them; what JSON has not, such as large integers, as text.
import { DuckDBInstance } from "@duckdb/node-api";
import { readFileSync } from "node:fs";

const { threads, statements } = JSON.parse(readFileSync(0, "utf8"));
const instance = await DuckDBInstance.create(":memory:", { threads: String(threads) });
const connection = await instance.connect();
const seconds = [];
let rows = [];
for (const statement of statements) {
  const started = process.hrtime.bigint();
  const answer = await connection.runAndReadAll(statement);
  seconds.push(Number(process.hrtime.bigint() - started) / 1e9);
  rows = answer.getRowObjectsJson();
}
process.stdout.write(JSON.stringify({ seconds, rows, rss_kib: process.resourceUsage().maxRSS }));
