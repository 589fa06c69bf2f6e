// Fails when the scripts and styles a browser loads before the first page are more than 180 kB
// compressed: the entry, its static imports and their styles. Typefaces come later (font-display: swap).
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const LIMIT = 180_000;
const dist = new URL("../dist/", import.meta.url);
const manifest = JSON.parse(readFileSync(new URL(".vite/manifest.json", dist), "utf8"));

const files = new Set(["index.html", "theme.js"]);
const visit = (name) => {
  const chunk = manifest[name];
  if (!chunk || files.has(chunk.file)) return;
  files.add(chunk.file);
  for (const style of chunk.css ?? []) files.add(style);
  for (const next of chunk.imports ?? []) visit(next);
};
for (const [name, chunk] of Object.entries(manifest)) if (chunk.isEntry) visit(name);

let total = 0;
for (const file of files) {
  const size = gzipSync(readFileSync(new URL(file, dist)), { level: 9 }).length;
  total += size;
  console.log(`${String(size).padStart(8)}  ${file}`);
}
console.log(`${String(total).padStart(8)}  first load, compressed; the limit is ${LIMIT}`);

// The folder is embedded by Go and must exist in a fresh checkout.
const keep = new URL(".gitkeep", dist);
if (!existsSync(keep)) writeFileSync(keep, "");
if (total > LIMIT) {
  console.error(
    `First load is ${total - LIMIT} bytes too large. Load what the first page does not need with import().`,
  );
  process.exit(1);
}
