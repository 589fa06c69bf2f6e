// Two windows of one draft: sixty edits where every test run sees them, and a thousand, which take minutes.
import { api, check, freshName, open, same, signIn, until } from "./browser.mjs";
import { dropProject, makeProject, node, saved } from "./editor.mjs";

/** So many letters each of two windows types, each letter an edit, and so many before both are saved. */
const SHORT = { letters: 30, round: 10 };
const LONG = { letters: 500, round: 20 };

/** A window's field for the question of a step, opened and empty. */
async function question(page, project, key) {
  await page.goto(`/projects/${project}/pipeline?step=${key}`);
  const field = page.getByRole("textbox", { name: "Question" });
  await field.waitFor({ timeout: 60_000 });
  return field;
}

/** Counts the saves that were refused because the other window had saved meanwhile. */
function refusals(page) {
  const counted = { refused: 0 };
  page.on("response", (answer) => {
    if (answer.request().method() !== "PUT" || !/[/]draft$/.test(answer.url())) return;
    if (answer.status() === 409) counted.refused++;
  });
  return counted;
}

/**
 * Both type a long question at the same time, each into another step of the same draft, and both are
 * saved after every few letters, each over what the other has just saved.
 */
async function typing(left, right, project, { letters: all, round }) {
  const words = (letter) => Array.from({ length: all }, (_, i) => (i % 2 ? i % 10 : letter));
  const [ours, theirs] = [words("a").join(""), words("b").join("")];
  const counted = [refusals(left), refusals(right)];
  const begin = async (page, key) => {
    const field = await question(page, project, key);
    await field.fill("");
    await field.focus();
  };
  await Promise.all([begin(left, "approval"), begin(right, "approval-2")]);
  // Letter by letter, each an edit of its own.
  const type = async (page, letters) => {
    for (const letter of letters) await page.keyboard.insertText(letter);
  };
  for (let from = 0; from < all; from += round) {
    const to = from + round;
    await Promise.all([type(left, ours.slice(from, to)), type(right, theirs.slice(from, to))]);
    await Promise.all([saved(left), saved(right)]);
    const both = [
      await prompt(left, project, "approval"),
      await prompt(left, project, "approval-2"),
    ];
    // promise: I-11
    same(both, [ours.slice(0, to), theirs.slice(0, to)], "both questions, letter for letter");
  }
  const refused = counted[0].refused + counted[1].refused;
  // Who saves second in a round knows nothing of the first one's save.
  check(refused >= all / round, `the two met only ${refused} times, so nothing was shown`);
}

async function prompt(page, project, key) {
  const { content } = await api(page, `/projects/${project}/draft`);
  return content.steps.find((step) => step.key === key)?.approval?.prompt;
}

/** Both write the same field before either knew: who was slower is asked, and keeps the pen. */
async function meeting(left, right, project) {
  const read = () => prompt(left, project, "approval-3");
  const fields = await Promise.all(
    [left, right].map((page) => question(page, project, "approval-3")),
  );
  await fields[0].fill("of the left");
  await fields[1].fill("of the right");
  const asked = (page) => page.getByRole("button", { name: "Look at it" });
  const slower = await until(
    "one of them is asked",
    async () => {
      if (await asked(left).isVisible()) return left;
      return (await asked(right).isVisible()) ? right : undefined;
    },
    60_000,
  );
  const faster = slower === left ? right : left;
  const [first, mine] = slower === left ? ["right", "left"] : ["left", "right"];
  // promise: I-11
  same(await read(), `of the ${first}`, "what is saved while it is asked");
  same(
    await slower.getByRole("textbox", { name: "Question" }).inputValue(),
    `of the ${mine}`,
    "what the slower one wrote is still there",
  );
  await asked(slower).click();
  await slower
    .getByRole("radio", { name: /^Keep yours for/ })
    .first()
    .check();
  await slower.getByRole("button", { name: "Put both together" }).click();
  await until("what was decided is saved", async () => (await read()) === `of the ${mine}`, 60_000);
  await faster.reload();
}

/** The whole pipeline as the page gives it to people. */
async function exported(page) {
  await page.bringToFront();
  await node(page, "approval").waitFor({ state: "attached" });
  await page.evaluate(() => navigator.clipboard.writeText(""));
  await page.getByRole("button", { name: "Copy the whole pipeline as JSON" }).click();
  return until("the JSON", () => page.evaluate(() => navigator.clipboard.readText()));
}

/** The same pipeline is the same bytes: in both windows, after a reload, and written back. */
async function bytes(left, right, project) {
  await Promise.all([left.reload(), right.reload()]);
  const one = await exported(left);
  // promise: I-11
  same(await exported(right), one, "the JSON in the other window");
  const draft = () => api(left, `/projects/${project}/draft`);
  const { revision, base_version, content } = await draft();
  const status = await left.evaluate(
    async ([url, match, body]) => {
      const headers = { "Content-Type": "application/json", "If-Match": match };
      return (await fetch(url, { method: "PUT", headers, body })).status;
    },
    [
      `/api/v1/projects/${project}/draft`,
      `"${revision}"`,
      JSON.stringify({ base_version, content: JSON.parse(one) }),
    ],
  );
  same(status, 200, "writing back what was exported");
  // promise: I-11
  same((await draft()).content, content, "the draft, written back from what was exported");
  await left.reload();
  // promise: I-11
  same(await exported(left), one, "the JSON after it was written back");
}

/** A draft of three questions in two windows: typed into, met in, and read to the byte. */
async function both({ page, context, browser }, measure) {
  const project = freshName("two");
  await signIn(page);
  await makeProject(page, project);
  const other = await open(browser);
  for (const one of [context, other.context])
    await one.grantPermissions(["clipboard-read", "clipboard-write"]);
  try {
    await signIn(other.page);
    await page.goto(`/projects/${project}/pipeline`);
    for (let i = 0; i < 3; i++)
      await page.getByRole("button", { name: "Approval", exact: true }).click();
    await node(page, "approval-3").waitFor({ state: "attached" });
    await saved(page);
    await typing(page, other.page, project, measure);
    await meeting(page, other.page, project);
    await bytes(page, other.page, project);
  } finally {
    await other.context.close();
    await dropProject(page, project);
  }
}

export const stories = [
  [
    "two windows type into one draft in turn and at once, and nothing is overwritten unseen",
    (told) => both(told, SHORT),
  ],
];

/** The same a thousand letters long, for `make test-slow`. */
export const long = [
  [
    "two people type a thousand letters into one draft, and its bytes stay what they are",
    (told) => both(told, LONG),
  ],
];
