// Browser tests against a running NullOps: npm run e2e [--slow] [part of a story's name]…
// NULLOPS_TEST_URL, NULLOPS_TEST_USER and NULLOPS_TEST_PASSWORD say where and as whom (an admin);
// a project with a pipeline, an environment and an online node have to be there.

import { appendFileSync } from "node:fs";
import { stories as access } from "./access.mjs";
import { stories as accessibility } from "./accessibility.mjs";
import { stories as admin } from "./admin.mjs";
import { stories as axe } from "./axe.mjs";
import { base, launch, open, password, picture, trouble, user } from "./browser.mjs";
import { stories as choosing } from "./choosing.mjs";
import { stories as clone } from "./clone.mjs";
import { stories as cookies } from "./cookies.mjs";
import { stories as dialogs } from "./dialogs.mjs";
import { stories as doors } from "./doors.mjs";
import { stories as drawing } from "./drawing.mjs";
import { stories as drop } from "./drop.mjs";
import { stories as editor } from "./editor.mjs";
import { stories as engineer } from "./engineer.mjs";
import { stories as failure } from "./failure.mjs";
import { stories as first } from "./first.mjs";
import { stories as gallery } from "./gallery.mjs";
import { stories as granting } from "./granting.mjs";
import { stories as hostile } from "./hostile.mjs";
import { stories as keyboard } from "./keyboard.mjs";
import { stories as keys } from "./keys.mjs";
import { stories as lacks } from "./lacks.mjs";
import { stories as life } from "./life.mjs";
import { stories as live } from "./live.mjs";
import { stories as main } from "./main.mjs";
import { stories as met } from "./met.mjs";
import { stories as nodes } from "./nodes.mjs";
import { stories as nothing } from "./nothing.mjs";
import { stories as overview } from "./overview.mjs";
import { stories as people } from "./people.mjs";
import { stories as plugins } from "./plugins.mjs";
import { stories as qa } from "./qa.mjs";
import { stories as reach } from "./reach.mjs";
import { stories as screens } from "./screens.mjs";
import { stories as states } from "./states.mjs";
import { stories as two, long as twoLong } from "./two.mjs";

if (!base || !user || !password) {
  console.error(
    "e2e: set NULLOPS_TEST_URL, NULLOPS_TEST_USER and NULLOPS_TEST_PASSWORD, or run `make test`, which does.",
  );
  process.exit(2);
}
const wanted = process.argv.slice(2);
const all = [
  access,
  admin,
  plugins,
  main,
  people,
  granting,
  lacks,
  life,
  live,
  qa,
  reach,
  cookies,
  choosing,
  clone,
  editor,
  drawing,
  screens,
  overview,
  nodes,
  engineer,
  keyboard,
  keys,
  accessibility,
  two,
  met,
  failure,
  hostile,
].flat();
/** Minutes long: told when they are named, or all of them with --slow. */
const slow = [drop, first, axe, states, dialogs, nothing, doors, gallery, twoLong].flat();
const named = (part) =>
  part === "--slow" ? slow : [...all, ...slow].filter(([name]) => name.includes(part));
const stories = wanted.length === 0 ? all : [...new Set(wanted.flatMap(named))];
const browser = await launch();
/** How many failed stories may be told once more; real engines are not always on time. */
const AGAIN = 4;
/**
 * Once is once too often: a race between two windows or people, a line that was lost, a word that
 * became an element, a door that stood open, a fault of accessibility. No slow engine explains those.
 */
const strict = [
  access,
  accessibility,
  axe,
  dialogs,
  doors,
  drop,
  hostile,
  lacks,
  met,
  nothing,
  states,
  two,
  twoLong,
];
const lines = live.filter(([name]) => /^a link|^hostile/.test(name));
const never = new Set([...strict.flat(), ...lines]);

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
