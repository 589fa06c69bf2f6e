// Fails when the scripts and styles a browser loads before the first page are more than 180 kB
// compressed: the entry, its static imports and their styles. Typefaces come later (font-display: swap).
// Fails too when the pipeline editor takes more than 120 kB beyond that, and when what is large and seldom
// wanted (forms, layout, terminal, curves) is no chunk of its own, or comes along with a page.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const LIMIT = 180_000;
const EDITOR_LIMIT = 120_000;
/** Loaded by import() when it is wanted; one static import anywhere would bring it along. */
const APART = [
  "src/editor/inspector/PluginForm.tsx",
  "node_modules/@dagrejs/dagre/dist/dagre.esm.js",
  "src/pages/deployment/Terminal.tsx",
  "src/components/Chart.tsx",
];
/** Parts of a page that are loaded when they are opened, and nothing without one of those: they come together. */
const WITH = ["src/pages/plugins/DraftForm.tsx"];
/** Each of them is far larger than this, in bytes. */
const LINE = 5000;
const EDITOR = "src/editor/Editor.tsx";
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

const editor = weigh([...closure(EDITOR)].filter((file) => !files.has(file)));
console.log(`${String(editor).padStart(8)}  the editor beyond that; the limit is ${EDITOR_LIMIT}`);

/** The editor, and every page and part of a page that is loaded when it is opened. */
const pages = Object.keys(manifest).filter(
  (name) =>
    manifest[name].isDynamicEntry &&
    (name === EDITOR || name.startsWith("src/pages/")) &&
    ![...APART, ...WITH].includes(name),
);

/** What of APART is no chunk of its own, or comes along with the first load or any of those. */
const before = pages.reduce((all, page) => closure(page, all), new Set(files));
const along = APART.filter(
  (name) => !manifest[name]?.isDynamicEntry || !apart(manifest[name].file),
);

/** What is also imported statically leaves a chunk of a line, which leads on to where the code is. */
function apart(file) {
  return !before.has(file) && readFileSync(new URL(file, dist)).length > LINE;
}

// The folder is embedded by Go and must exist in a fresh checkout.
const keep = new URL(".gitkeep", dist);
if (!existsSync(keep)) writeFileSync(keep, "");
if (pages.length < 20) {
  console.error(`Only ${pages.length} pages are chunks of their own: they are not loaded lazily.`);
  process.exit(1);
}
if (along.length > 0) {
  console.error(
    `No chunk of its own, loaded when it is wanted: ${along.join(", ")}. Use import().`,
  );
  process.exit(1);
}
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
