// Holds manifests against the types of Kubernetes: ajv (from the API's schemas) sees wrong values and what is missing, the
// TypeScript compiler sees fields that do not exist.
// In: JSON {name: YAML text}. Out: JSON {name: {documents: [...], faults: ["Kind/name: what"]}}.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { parseAllDocuments } from "yaml";

const require = createRequire(import.meta.url);
const here = dirname(fileURLToPath(import.meta.url));

function moduleOf(document) {
  const { apiVersion, kind } = document;
  const root = apiVersion.startsWith("monitoring.coreos.com/") ? "@kubernetes-models/prometheus-operator" : "kubernetes-models";
  return `${root}/${apiVersion}/${kind}`;
}

const title = (document) => `${document?.kind}/${document?.metadata?.name}`;

function parse(text) {
  const parsed = parseAllDocuments(text, { version: "1.1", merge: false });
  return {
    documents: parsed.map((document) => document.toJS()).filter((document) => document !== null),
    faults: parsed.flatMap((document) => [...document.errors, ...document.warnings].map((error) => error.message)),
  };
}

// Kustomize folds long texts of base64, which the format "byte" does not know.
function unfolded(document) {
  if (document.kind !== "Secret") return document;
  const data = Object.entries(document.data).map(([key, text]) => [key, text.replace(/\s/g, "")]);
  return { ...document, data: Object.fromEntries(data) };
}

function wrongValues(document) {
  try {
    const Model = require(moduleOf(document))[document.kind];
    new Model(unfolded(document)).validate();
    return [];
  } catch (error) {
    return [`${title(document)}: ${error.message}`];
  }
}

// One compilation for all documents: each is a file of its own that exists in memory only.
function unknownFields(entries) {
  const files = new Map();
  entries.forEach(({ document }, i) => {
    const source =
      `import { I${document.kind} } from ${JSON.stringify(moduleOf(document))};\n` +
      `export const document: I${document.kind} = ${JSON.stringify(document)};\n`;
    files.set(join(here, `document-${i}.ts`), source);
  });
  const options = { strict: true, noEmit: true, skipLibCheck: true, types: [],
                    moduleResolution: ts.ModuleResolutionKind.Node10, module: ts.ModuleKind.CommonJS };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (path) => files.has(path) || fileExists(path);
  host.readFile = (path) => files.get(path) ?? ts.sys.readFile(path);
  host.getSourceFile = (path, ...rest) =>
    files.has(path) ? ts.createSourceFile(path, files.get(path), ts.ScriptTarget.ES2022) : getSourceFile(path, ...rest);
  const program = ts.createProgram([...files.keys()], options, host);
  const paths = [...files.keys()];
  for (const found of ts.getPreEmitDiagnostics(program)) {
    const entry = entries[paths.indexOf(found.file?.fileName)];
    const text = ts.flattenDiagnosticMessageText(found.messageText, " ");
    if (entry === undefined) throw new Error(text);
    entry.faults.push(`${title(entry.document)}: ${text}`);
  }
}

const answer = {};
const entries = [];
for (const [name, text] of Object.entries(JSON.parse(readFileSync(0, "utf8")))) {
  const { documents, faults } = parse(text);
  answer[name] = { documents, faults };
  for (const document of documents) {
    const wrong = wrongValues(document);
    faults.push(...wrong);
    entries.push({ document, faults });
  }
}
unknownFields(entries);
process.stdout.write(JSON.stringify(answer));
