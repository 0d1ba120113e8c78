// The rows of Parquet files, read by hyparquet: one JSON array for all of them.
//   hyparquet.js [--filter FILTER] FILE...
//   hyparquet.js --footer FILE      what the footer says, as one JSON object
// The filter is JSON; whole numbers in it may be text.
// Dates and times as microseconds since the epoch in text, large integers as text, bytes in hexadecimal.
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";

const parsers = {
  timestampFromMilliseconds: (value) => String(value * 1000n),
  timestampFromMicroseconds: (value) => String(value),
  timestampFromNanoseconds: (value) => String(value / 1000n),
  dateFromDays: (value) => String(BigInt(value) * 86400000000n),
  stringFromBytes: text,
  jsonFromBytes: text,
  uuidFromBytes: (value) => value && hex(value).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-"),
};

function text(bytes) {
  return bytes && new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

function hex(bytes) {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
}

function plain(_, value) {
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  return value instanceof Uint8Array ? hex(value) : value;
}

function filterValue(_, value) {
  return typeof value === "string" && /^-?[0-9]+$/.test(value) ? BigInt(value) : value;
}

const rows = [];
const paths = process.argv.slice(2);
if (paths[0] === "--footer") {
  const footer = await parquetMetadataAsync(await asyncBufferFromFile(paths[1]));
  process.stdout.write(JSON.stringify(footer, plain));
  process.exit();
}
const filter = paths[0] === "--filter" ? JSON.parse(paths.splice(0, 2)[1], filterValue) : undefined;
for (const path of paths) {
  const file = await asyncBufferFromFile(path);
  // utf8 false: a text without a logical type is bytes.
  const options = { file, compressors, parsers, utf8: false, filter, usePageIndex: filter !== undefined };
  for (const row of await parquetReadObjects(options)) rows.push(row);
}
process.stdout.write(JSON.stringify(rows, plain));
