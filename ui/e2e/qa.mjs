// A tester, who may only look: from sign-in to a bug that others can follow, by hand and by keys.
import {
  accessible,
  api,
  check,
  freshName,
  open,
  picture,
  RUN,
  same,
  signIn,
  until,
} from "./browser.mjs";
import { tabTo } from "./keyboard.mjs";
import { cleanUp, create, pill } from "./main.mjs";
import { invite } from "./people.mjs";

/** What opens in a tab of its own is the service, and it answers. */
async function opens(page, context, press) {
  const [tab] = await Promise.all([context.waitForEvent("page"), press()]);
  const body = async () => {
    const text = await tab
      .locator("body")
      .innerText()
      .catch(() => "");
    if (!/Corner Shop/.test(text)) await tab.reload().catch(() => null);
    return /Corner Shop/.test(text);
  };
  await until("what was opened answers", body, RUN);
  await tab.close();
  await page.bringToFront();
}

/** The list says which versions run, who made it, and leads to the service and to its page. */
async function byHand(page, context, made, engineer) {
  await signIn(page, `/urls?q=${made.name}`, made.viewer);
  const card = page.locator(".urlcard").filter({ hasText: made.name });
  // promise: N-003
  await card.getByText("Ready", { exact: true }).waitFor();
  await card.getByText(`by ${engineer.name}`).waitFor();
  const told = await card.locator(".chip").evaluateAll((all) => all.map((one) => one.title));
  const wanted = made.versions.map(({ step, tag }) => `${step} ${tag}`);
  // promise: N-003
  same(told.sort(), wanted.sort(), "the versions on the card");
  await picture(page, "urls");
  const link = card.getByRole("link", { name: `Open web of ${made.name}` });
  await opens(page, context, () => link.click());
  await card.getByRole("link", { name: `Page of ${made.name}` }).click();
  await pill(page).waitFor();
  await onlyCapsule(page);
  await page.getByRole("button", { name: "Bug capsule" }).click();
  await capsule(page, made);
}

/** Nothing but the capsule is there to be pressed. */
async function onlyCapsule(page) {
  const free = await page
    .locator(".acts button, .acts a")
    .evaluateAll((all) => all.map((one) => one.getAttribute("aria-label") ?? one.textContent));
  same(free, ["Bug capsule"], "what a viewer can press");
}

/** The link in the clipboard leads to what somebody else needs to see the same. */
async function capsule(page, made) {
  await page.locator(".toast", { hasText: "bug capsule is in the clipboard" }).waitFor();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  check(link.endsWith(`/d/${made.id}/capsule`), `the clipboard holds ${link}`);
  await page.goto(link);
  await page.getByRole("heading", { name: `Bug capsule of ${made.name}` }).waitFor();
  await page
    .locator(".lackline")
    .getByText(/needs Full/)
    .waitFor();
  same(await page.getByRole("button", { name: /^Recreate/ }).count(), 0, "recreating as a viewer");
  await accessible(page, "a capsule that may only be read");
}

/** The same path without a mouse: nothing is clicked or focused by the test. */
async function byKeys(page, context, made) {
  await page.goto("/sign-in");
  await until("the user name has the focus", () =>
    page.evaluate(() => document.activeElement?.getAttribute("name") === "user"),
  );
  await page.keyboard.type(made.viewer.name);
  await page.keyboard.press("Tab");
  await page.keyboard.type(made.viewer.password);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Deployments", level: 1 }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("u");
  await page.getByRole("heading", { name: "URLs", level: 1 }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type(made.name);
  await page.getByRole("link", { name: `Open web of ${made.name}` }).waitFor();
  await tabTo(page, "link", `Open web of ${made.name}`);
  await opens(page, context, () => page.keyboard.press("Enter"));
  await tabTo(page, "link", `Page of ${made.name}`);
  await page.keyboard.press("Enter");
  await pill(page).waitFor();
  await page.keyboard.press("3");
  await page.waitForURL(/\/logs/);
  await page.getByRole("log").locator(".ln").first().waitFor({ timeout: RUN });
  await refusedByPalette(page);
  await chosenInPalette(page, "Bug capsule");
  await capsule(page, made);
}

/** The palette knows the page's acts, and gives the same reasons for what can't be done. */
async function refusedByPalette(page) {
  await page.keyboard.press("Control+k");
  await page.keyboard.type("Delete");
  const option = page.getByRole("option", { name: /^Delete/ }).first();
  await option.waitFor();
  same(await option.getAttribute("aria-disabled"), "true", "deleting by the palette");
  check(/needs Full/.test(await option.innerText()), "the palette does not say why");
  await page.keyboard.press("Escape");
  await page.getByRole("listbox").waitFor({ state: "detached" });
}

async function chosenInPalette(page, words) {
  await page.keyboard.press("Control+k");
  await page.keyboard.type(words);
  await page.getByRole("option", { name: words }).first().waitFor();
  await page.keyboard.press("Enter");
}

export const stories = [
  [
    "a tester opens a URL, reads logs and hands on a bug capsule, by hand and by keys",
    async ({ page, browser }) => {
      await signIn(page);
      const { engineer, viewer, leave } = await invite(page);
      const permissions = ["clipboard-read", "clipboard-write"];
      const [makes, hand, keys] = [
        await open(browser),
        await open(browser, { permissions }),
        await open(browser, { permissions }),
      ];
      let made;
      try {
        await signIn(makes.page, "/deployments", engineer);
        made = await create(makes.page, freshName("tested"));
        const read = () => api(page, `/deployments/${made.id}`);
        await until("ready", async () => (await read()).status === "ready", RUN);
        made = { ...(await read()), viewer };
        await byHand(hand.page, hand.context, made, engineer);
        await byKeys(keys.page, keys.context, made);
      } finally {
        if (made) await cleanUp(page, made.id);
        for (const { context } of [makes, hand, keys]) await context.close();
        await leave();
      }
    },
  ],
];
