// The columns of a Parquet file, read by parquet-wasm into Arrow: parquet_wasm.js FILE writes {NAME: [VALUE...]}.
// Whole numbers, reals and decimals (unscaled) as text, dates as days and times in the column's unit since the epoch, bytes in
// hexadecimal.
import { tableFromIPC, Type } from "apache-arrow";
import { readFileSync } from "node:fs";
import { readParquet } from "parquet-wasm/node";

function hex(bytes) {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
}

function real(value) {
  return Object.is(value, -0) ? "-0" : String(value);
}

// Four little-endian words of 32 bits, two's complement.
function wide(words) {
  const value = words.reduceRight((sum, word) => (sum << 32n) | BigInt(word), 0n);
  return String(BigInt.asIntN(128, value));
}

// What the Arrow getters would round is taken as it stands in memory.
function read(data, row) {
  switch (data.typeId) {
    case Type.Float: return real(data.values[row]);
    case Type.Int:
    case Type.Date:
    case Type.Timestamp: return String(data.values[row]);
    case Type.Decimal: return wide(Array.from(data.values.subarray(row * 4, row * 4 + 4)));
    default: return undefined;
  }
}

function columnOf(vector) {
  const values = [];
  for (const data of vector.data) {
    for (let row = 0; row < data.length; row++) {
      const index = data.offset + row;
      const valid = data.nullCount === 0 || (data.nullBitmap[index >> 3] >> (index & 7)) & 1;
      values.push(valid ? read(data, row) : null);
    }
  }
  for (let row = 0; row < values.length; row++) {
    if (values[row] === undefined) values[row] = vector.get(row);
    if (values[row] instanceof Uint8Array) values[row] = hex(values[row]);
  }
  return values;
}

const table = tableFromIPC(readParquet(readFileSync(process.argv[2])).intoIPCStream());
const columns = {};
table.schema.fields.forEach((field, index) => (columns[field.name] = columnOf(table.getChildAt(index))));
process.stdout.write(JSON.stringify(columns));
