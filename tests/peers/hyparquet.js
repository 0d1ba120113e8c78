// The rows of Parquet files, read by hyparquet: one JSON array for all of them.
//   hyparquet.js FILE...
// Dates and times as microseconds since the epoch in text, large integers as text, bytes in hexadecimal.
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";
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

const rows = [];
for (const path of process.argv.slice(2)) {
  const file = await asyncBufferFromFile(path);
  // utf8 false: a text without a logical type is bytes.
  for (const row of await parquetReadObjects({ file, compressors, parsers, utf8: false })) rows.push(row);
}
process.stdout.write(JSON.stringify(rows, plain));
