// SQL in, rows out: duckdb.js THREADS. Each line of the standard input is {"statements": [SQL...]} and is answered by a line
// {"seconds": [of each statement], "cpu_seconds": [of the processor, likewise], "rows": [of the last one],
// "rss_kib": the most memory that it took}, or {"error": TEXT}.
// Values come as JSON has them; what JSON has not, such as large integers, as text.
import { DuckDBInstance } from "@duckdb/node-api";
import { createInterface } from "node:readline";

const instance = await DuckDBInstance.create(":memory:", { threads: process.argv[2] });
const connection = await instance.connect();

async function run(statements) {
  const answer = { seconds: [], cpu_seconds: [], rows: [] };
  for (const statement of statements) {
    const started = process.hrtime.bigint();
    const before = process.cpuUsage();
    const result = await connection.runAndReadAll(statement);
    const used = process.cpuUsage(before);
    answer.seconds.push(Number(process.hrtime.bigint() - started) / 1e9);
    answer.cpu_seconds.push((used.user + used.system) / 1e6);
    answer.rows = result.getRowObjectsJson();
  }
  return { ...answer, rss_kib: process.resourceUsage().maxRSS };
}

for await (const line of createInterface({ input: process.stdin })) {
  const answer = await run(JSON.parse(line).statements).catch((error) => ({ error: String(error) }));
  process.stdout.write(JSON.stringify(answer) + "\n");
}
