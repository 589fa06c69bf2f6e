// Two windows, a thousand edits. It types for long on a busy machine, so it is one of the slow ones.
import { api, freshName, open, same, signIn, until } from "./browser.mjs";
import { dropProject, makeProject, node, saved } from "./editor.mjs";

/** So many letters each of two people types, each letter an edit. */
const LETTERS = 500;

/**
 * Both type a long question at the same time, each into another step of the same draft; then both
 * into the same one. Nothing is lost, and where they meet it is asked and not decided.
 */
async function typing(left, right, project) {
  const question = async (page, key) => {
    await page.goto(`/projects/${project}/pipeline?step=${key}`);
    const field = page.getByRole("textbox", { name: "Question" });
    await field.waitFor({ timeout: 60_000 });
    return field;
  };
  const words = (letter) => Array.from({ length: LETTERS }, (_, i) => `${letter}${i % 10}`[i % 2]);
  const [ours, theirs] = [words("a").join(""), words("b").join("")];
  const type = async (page, key, text) => {
    const field = await question(page, key);
    await field.fill("");
    await field.focus();
    // Letter by letter, each an edit of its own.
    for (const letter of text) await page.keyboard.insertText(letter);
  };
  await Promise.all([type(left, "approval", ours), type(right, "approval-2", theirs)]);
  const prompt = async (key) => {
    const { content } = await api(left, `/projects/${project}/draft`);
    return content.steps.find((step) => step.key === key)?.approval?.prompt;
  };
  await until(
    "both questions, letter for letter, in one draft",
    async () => (await prompt("approval")) === ours && (await prompt("approval-2")) === theirs,
    90_000,
  );
  await Promise.all([saved(left), saved(right)]);
  await meeting(left, right, prompt, question);
}

/** Both write the same field before either knew: who was slower is asked, and keeps the pen. */
async function meeting(left, right, prompt, question) {
  const fields = await Promise.all([question(left, "approval-3"), question(right, "approval-3")]);
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
  same(await prompt("approval-3"), `of the ${first}`, "what is saved while it is asked");
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
  await until(
    "what was decided is saved",
    async () => (await prompt("approval-3")) === `of the ${mine}`,
    60_000,
  );
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
  same((await draft()).content, content, "the draft, written back from what was exported");
  await left.reload();
  same(await exported(left), one, "the JSON after it was written back");
}

export const stories = [
  [
    "two people type into one draft, and its bytes stay what they are",
    async ({ page, context, browser }) => {
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
        await typing(page, other.page, project);
        await bytes(page, other.page, project);
      } finally {
        await other.context.close();
        await dropProject(page, project);
      }
    },
  ],
];
