// YAML in, JSON out.
import { readFileSync } from "node:fs";
import { parse } from "yaml";

process.stdout.write(JSON.stringify(parse(readFileSync(0, "utf8"))));
