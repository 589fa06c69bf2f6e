// Browser tests against a running NullOps: npm run e2e [--slow] [part of a story's name]…
// NULLOPS_TEST_URL, NULLOPS_TEST_USER and NULLOPS_TEST_PASSWORD say where and as whom (an admin);
// a project with a pipeline, an environment and an online node have to be there.

import { appendFileSync } from "node:fs";
import {
  base,
  launch,
  open,
  password,
  picture,
  signIn,
  trouble,
  useBusyNodes,
  user,
} from "./browser.mjs";
import { runsToday } from "./part.mjs";
import { every, rotated, slow, strict } from "./stories.mjs";

if (!base || !user || !password) {
  console.error(
    "e2e: set NULLOPS_TEST_URL, NULLOPS_TEST_USER and NULLOPS_TEST_PASSWORD, or run `make test`, which does.",
  );
  process.exit(2);
}
const wanted = process.argv.slice(2);
const named = (part) =>
  part === "--slow"
    ? slow
    : [...every, ...rotated, ...slow].filter(([name]) => name.includes(part));
const today = rotated.filter(([name]) => runsToday(name));
const stories = wanted.length === 0 ? [...every, ...today] : [...new Set(wanted.flatMap(named))];
const browser = await launch();
/** How many failed stories may be told once more; real engines are not always on time. */
const AGAIN = 4;
const never = new Set(strict);

/** What stories do after all others: [the story, its window, the rest of it]. */
const later = [];

/**
 * Tells one story in a window of its own; says what went wrong, or nothing. A story that has to let
 * time pass gives the rest of it back, which is told when all others have been.
 */
async function tell(told, opened, rest) {
  const [name, story, options] = told;
  const begun = Date.now();
  const before = trouble.length;
  const { context, page } = opened ?? (await open(browser, options));
  let kept = false;
  try {
    const more = await (rest ?? story)({ page, context, browser });
    if (trouble.length > before)
      throw new Error(`the page complained: ${trouble.slice(before).join("\n    ")}`);
    if (typeof more === "function") {
      kept = true;
      later.push([told, { context, page }, more]);
      return true;
    }
    console.log(`ok    ${name} (${((Date.now() - begun) / 1000).toFixed(1)} s)`);
    return true;
  } catch (error) {
    // As Go's tests say it: whoever reads a long log for what failed finds both.
    const seconds = ((Date.now() - begun) / 1000).toFixed(2);
    console.log(
      `--- FAIL: browser/${name.replaceAll(" ", "_")} (${seconds}s)\n    ${error.message}\n    at ${page.url()}`,
    );
    noteReason(name, error.message);
    await picture(page, `failed-${name.replace(/[^a-z0-9]+/gi, "-")}`).catch(() => undefined);
    return false;
  } finally {
    if (!kept) await context.close();
  }
}

/** The rests of stories, in the order in which they began. */
async function tellRests() {
  const wrong = [];
  for (const [told, opened, rest] of later.splice(0))
    if (!(await tell(told, opened, rest))) wrong.push(told);
  return wrong;
}

/** Names a story that passed the second time, for docs/flaky.md: tools/test.sh collects the names. */
function noteFlaky(name) {
  console.log(`FLAKY ${name}: failed once, passed the second time`);
  const file = process.env.NULLOPS_TEST_FLAKY;
  if (file) appendFileSync(file, `browser: ${name}\n`);
}

/** Notes why a story failed; tools/test.sh shows it last. */
function noteReason(name, message) {
  const file = process.env.NULLOPS_TEST_REASONS;
  const lines = message.split("\n").slice(0, 4);
  if (file) appendFileSync(file, `browser: ${name}\n    ${lines.join("\n    ")}\n`);
}

/** Tells tools/test.sh which stories in rotation this run has, and which are left to other days. */
function noteRotation() {
  const file = process.env.NULLOPS_TEST_ROTATION;
  if (!file || wanted.length > 0) return;
  const lines = rotated.map((story) => {
    const [name] = story;
    return `${today.includes(story) ? "ran" : "left"} browser: ${name}\n`;
  });
  appendFileSync(file, lines.join(""));
}

async function prepare() {
  const { context, page } = await open(browser);
  try {
    await signIn(page);
    await useBusyNodes(page);
  } finally {
    await context.close();
  }
}

noteRotation();
await prepare();
let failed = [];
for (const story of stories) if (!(await tell(story))) failed.push(story);
failed.push(...(await tellRests()));
if (failed.length <= AGAIN) {
  const again = failed.filter((story) => !never.has(story));
  failed = failed.filter((story) => never.has(story));
  for (const story of again) {
    if ((await tell(story)) && (await tellRests()).length === 0) noteFlaky(story[0]);
    else failed.push(story);
  }
}
await browser.close();
console.log(`${stories.length - failed.length} passed, ${failed.length} failed`);
process.exit(failed.length === 0 && stories.length > 0 ? 0 : 1);
