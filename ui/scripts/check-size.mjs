// Fails when the scripts and styles a browser loads before the first page are more than 180 kB
// compressed: the entry, its static imports and their styles. Typefaces come later (font-display: swap).
// Fails too when the pipeline editor takes more than 120 kB beyond that. Layout and forms are chunks of
// their own, loaded when they are wanted.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const LIMIT = 180_000;
const EDITOR_LIMIT = 120_000;
const dist = new URL("../dist/", import.meta.url);
const manifest = JSON.parse(readFileSync(new URL(".vite/manifest.json", dist), "utf8"));

/** A chunk, what it imports at once, and their styles. */
function closure(name, files = new Set()) {
  const chunk = manifest[name];
  if (!chunk || files.has(chunk.file)) return files;
  files.add(chunk.file);
  for (const style of chunk.css ?? []) files.add(style);
  for (const next of chunk.imports ?? []) closure(next, files);
  return files;
}

function weigh(files) {
  let total = 0;
  for (const file of files) {
    const size = gzipSync(readFileSync(new URL(file, dist)), { level: 9 }).length;
    total += size;
    console.log(`${String(size).padStart(8)}  ${file}`);
  }
  return total;
}

const files = new Set(["index.html", "theme.js"]);
for (const [name, chunk] of Object.entries(manifest)) if (chunk.isEntry) closure(name, files);
const total = weigh(files);
console.log(`${String(total).padStart(8)}  first load, compressed; the limit is ${LIMIT}`);

const EDITOR = "src/editor/Editor.tsx";
const editor = weigh([...closure(EDITOR)].filter((file) => !files.has(file)));
console.log(`${String(editor).padStart(8)}  the editor beyond that; the limit is ${EDITOR_LIMIT}`);
for (const name of ["src/editor/PluginForm.tsx", "node_modules/@dagrejs/dagre/dist/dagre.esm.js"])
  if (manifest[EDITOR]?.imports?.includes(name)) throw new Error(`${name} is no chunk of its own`);

// The folder is embedded by Go and must exist in a fresh checkout.
const keep = new URL(".gitkeep", dist);
if (!existsSync(keep)) writeFileSync(keep, "");
if (total > LIMIT) {
  console.error(
    `First load is ${total - LIMIT} bytes too large. Load what the first page does not need with import().`,
  );
  process.exit(1);
}
if (!manifest[EDITOR] || editor > EDITOR_LIMIT) {
  console.error(
    `The editor is ${editor - EDITOR_LIMIT} bytes too large, or no chunk of its own. Load what it does not need at once with import().`,
  );
  process.exit(1);
}
