// Puts a compressed copy beside each text of the built interface: the control plane
// hands it to every browser that can read it, which is all of them.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const dist = new URL("../dist/", import.meta.url);
for (const name of readdirSync(dist, { recursive: true })) {
  if (!/\.(js|css|svg|html)$/.test(name)) continue;
  const text = readFileSync(new URL(name, dist));
  const packed = gzipSync(text, { level: 9 });
  if (packed.length < text.length) writeFileSync(new URL(`${name}.gz`, dist), packed);
}
