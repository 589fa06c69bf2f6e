// Measures the interface and writes docs/bench-ui.json and docs/bench-ui.md: `make bench-ui`.
//
// Usage: node scripts/bench.mjs [--small] [ROW...]   only these rows, or small ones; nothing is written then
//
// NULLOPS_TEST_URL, _USER and _PASSWORD name a running product with the example shop applied and a
// node online; `tools/run demo` gives both. What is too large to be really made (ten thousand
// deployments, a million lines) is answered by the proxy in front of it, the pages are the real ones.
import { writeFileSync } from "node:fs";
import os from "node:os";
import { base, launch, open, password, send, signIn, user } from "../e2e/browser.mjs";
import { drag, dragNear, select, type } from "./bench/editor.mjs";
import { judged } from "./bench/judged.mjs";
import { proxy } from "./bench/proxy.mjs";
import { report } from "./bench/report.mjs";
import { firstPaint, live, longLog, scrollList, small } from "./bench/rows.mjs";
import { tags } from "./bench/tags.mjs";

/** Until the machine has been idle for three seconds: what was just started comes to rest first. */
async function quiet() {
  const idle = () => os.cpus().reduce((sum, { times }) => sum + times.idle, 0) / os.cpus().length;
  for (let calm = 0, i = 0; calm < 3 && i < 60; i++) {
    const before = idle();
    await new Promise((resolve) => setTimeout(resolve, 1000));
    calm = idle() - before > 850 ? calm + 1 : 0;
  }
}

const rows = { drag, dragNear, select, type, scrollList, live, longLog, tags, firstPaint, judged };
const wanted = process.argv.slice(2).filter((one) => one !== "--small");
const before = os.loadavg()[0];
const begun = Date.now();
const front = await proxy(base);
const browser = await launch();
const results = [];
const { context, page } = await open(browser, { baseURL: front.url });
await signIn(page);
const world = { browser, context, page, front, open, signIn, send, user, password };
for (const [name, row] of Object.entries(rows)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  console.log(`== ${name}`);
  await quiet();
  try {
    for (const result of await row(world)) {
      results.push(result);
      console.log(`   ${result.what}: ${result.value} ${result.unit} (wanted ${result.target})`);
    }
  } catch (error) {
    console.log(`   could not be measured: ${error.message}`);
    results.push({ id: name, what: name, value: null, unit: "", target: "", error: error.message });
  } finally {
    front.answers.clear();
  }
}
await browser.close();
front.close();

const found = {
  measured_at: new Date().toISOString(),
  seconds: Math.round((Date.now() - begun) / 1000),
  machine: { processor: os.cpus()[0]?.model, cores: os.cpus().length, load_before: before },
  results,
};
if (!small && wanted.length === 0 && results.some((one) => !one.error)) {
  const docs = new URL("../../docs/", import.meta.url);
  writeFileSync(new URL("bench-ui.json", docs), `${JSON.stringify(found, null, 2)}\n`);
  writeFileSync(new URL("bench-ui.md", docs), report(found));
}
// A goal that is missed fails as loudly as a row that could not be measured; small rows mean nothing.
const missed = results.filter((one) => one.error || (one.met === false && !small));
for (const one of missed) console.error(`bench-ui: ${one.what}: ${one.error ?? "missed its goal"}`);
process.exit(missed.length > 0 ? 1 : 0);
