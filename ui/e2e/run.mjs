// Browser tests against a running NullOps: npm run e2e [part of a story's name].
// NULLOPS_TEST_URL, NULLOPS_TEST_USER and NULLOPS_TEST_PASSWORD say where and as whom (an admin);
// a project with a pipeline, an environment and an online node have to be there.

import { stories as access } from "./access.mjs";
import { stories as accessibility } from "./accessibility.mjs";
import { stories as admin } from "./admin.mjs";
import { base, launch, open, password, picture, trouble, user } from "./browser.mjs";
import { stories as editor } from "./editor.mjs";
import { stories as live } from "./live.mjs";
import { stories as main } from "./main.mjs";
import { stories as reach } from "./reach.mjs";

if (!base || !user || !password) {
  console.error(
    "e2e: set NULLOPS_TEST_URL, NULLOPS_TEST_USER and NULLOPS_TEST_PASSWORD, or run `make test`, which does.",
  );
  process.exit(2);
}
const wanted = process.argv[2] ?? "";
const all = [access, admin, main, live, reach, editor, accessibility].flat();
const stories = all.filter(([name]) => name.includes(wanted));
const browser = await launch();
/** How many failed stories may be told once more; real engines are not always on time. */
const AGAIN = 2;

/** Tells one story in a window of its own; says what went wrong, or nothing. */
async function tell([name, story, options]) {
  const begun = Date.now();
  const before = trouble.length;
  const { context, page } = await open(browser, options);
  try {
    await story({ page, context, browser });
    if (trouble.length > before)
      throw new Error(`the page complained: ${trouble.slice(before).join("\n    ")}`);
    console.log(`ok    ${name} (${((Date.now() - begun) / 1000).toFixed(1)} s)`);
    return true;
  } catch (error) {
    console.log(`FAIL  ${name}\n    ${error.message}\n    at ${page.url()}`);
    await picture(page, `failed-${name.replace(/[^a-z0-9]+/gi, "-")}`).catch(() => undefined);
    return false;
  } finally {
    await context.close();
  }
}

let failed = [];
for (const story of stories) if (!(await tell(story))) failed.push(story);
if (failed.length <= AGAIN) {
  const again = failed;
  failed = [];
  for (const story of again) {
    if (await tell(story)) console.log(`FLAKY ${story[0]}: failed once, passed the second time`);
    else failed.push(story);
  }
}
await browser.close();
console.log(`${stories.length - failed.length} passed, ${failed.length} failed`);
process.exit(failed.length === 0 && stories.length > 0 ? 0 : 1);
