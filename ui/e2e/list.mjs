// The list as a person arranges it: selected, sorted, divided, with favourites and without some columns.
import { check, freshName, picture, same, signIn, until } from "./browser.mjs";
import { cleanUp, create } from "./main.mjs";

const heads = (page) => page.locator(".gh b").allInnerTexts();

/** A menu at each row: what can be done, and why something can't. */
async function menu(page, row, name) {
  await row.getByRole("button", { name: `More for ${name}` }).click();
  const list = page.getByRole("menu", { name: `More for ${name}` });
  const retry = list.getByRole("menuitem", { name: /^Retry/ });
  same(await retry.getAttribute("aria-disabled"), "true", "retrying what did not fail");
  check(/only what failed can be retried/.test(await retry.innerText()), "no reason");
  await picture(page, "row-menu");
  await list.getByRole("menuitem", { name: /favourites/ }).click();
  await until("a favourite comes first", async () => (await heads(page))[0] === "Favourites");
}

/** Sorting and dividing are in the address, hidden columns are kept. */
async function arranges(page, project) {
  await page.getByRole("button", { name: "Name", exact: true }).click();
  await page.waitForURL(/sort=name/);
  await page.getByRole("button", { name: "Name", exact: true }).click();
  await page.waitForURL(/sort=-name/);
  same(
    await page.getByRole("columnheader", { name: "Name" }).getAttribute("aria-sort"),
    "descending",
    "what is said of the column",
  );
  await page.getByLabel("Group by").selectOption("By project");
  await page.waitForURL(/group=project/);
  await until("its project", async () => (await heads(page)).includes(project));
  await page.getByRole("button", { name: "Choose columns" }).click();
  await page.getByRole("menuitemcheckbox", { name: "Made by" }).click();
  await page.keyboard.press("Escape");
  await page.getByRole("menu").waitFor({ state: "detached" });
  const by = page.getByRole("columnheader", { name: "Made by" });
  same(await by.count(), 0, "the column");
  await page.reload();
  await page.locator(".lr").first().waitFor();
  same(await by.count(), 0, "the column after a reload");
}

/** The palette acts on what a sentence names; what was used last comes first. */
async function byPalette(page, one) {
  const find = page.getByRole("combobox", { name: /^Jump to/ });
  const asks = async (words) => {
    await page.keyboard.press("Control+k");
    await find.fill(words);
  };
  await asks("Nodes");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Nodes", level: 1 }).waitFor();
  await page.keyboard.press("Control+k");
  const recent = page.getByRole("listbox").getByRole("option").first();
  check(/^Nodes/.test(await recent.innerText()), `first is ${await recent.innerText()}`);
  await picture(page, "palette");
  await page.keyboard.press("Escape");
  await find.waitFor({ state: "detached" });
  await asks(`clone ${one.name}`);
  await page.getByRole("option", { name: `Clone ${one.name}` }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/deployments\/new\?.*from=/);
  await page.goto("/deployments");
  await page.locator(".foot").waitFor();
  await asks(`logs api ${one.name}`);
  await page.getByRole("option", { name: `Logs of api in ${one.name}` }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/logs\?log=api/);
}

/** The palette acts on what is selected: "delete 3 selected". */
async function actsOnSelected(page) {
  const said = await page.getByText(/^\d+ deployments selected$/).innerText();
  const count = Number.parseInt(said, 10);
  for (const act of ["Extend", "Delete"]) {
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Jump to a page, or do something" }).waitFor();
    await page.keyboard.type(`${act.toLowerCase()} ${count} selected`);
    const first = page.getByRole("option").first();
    await until(`${act} is offered`, async () =>
      (await first.innerText()).startsWith(`${act} ${count} selected`),
    );
    if (act === "Extend") await page.keyboard.press("Escape");
  }
  await page.keyboard.press("Enter");
  const question = page.getByRole("alertdialog").or(page.getByRole("dialog"));
  await question
    .getByText(new RegExp(`${count} deployments`))
    .first()
    .waitFor();
  await page.keyboard.press("Escape");
  await question.waitFor({ state: "detached" });
}

export const stories = [
  [
    "a list is selected from, sorted, divided, starred and freed of a column",
    async ({ page }) => {
      await signIn(page);
      const [one, other] = [
        await create(page, freshName("listed")),
        await create(page, freshName("listed")),
      ];
      try {
        await page.goto("/deployments?q=listed-");
        const row = page.locator(".lr").filter({ hasText: one.name });
        await row.waitFor();
        await arranges(page, one.project);
        await menu(page, row, one.name);
        await row.getByRole("checkbox", { name: `Select ${one.name}` }).check();
        await page.getByText("1 deployment selected").waitFor();
        await page.getByRole("checkbox", { name: "Select all that are listed" }).check();
        await page.getByText(/^([2-9]|\d\d+) deployments selected$/).waitFor();
        await picture(page, "list-arranged");
        await actsOnSelected(page);
        await byPalette(page, one);
        await page.goto("/deployments?q=listed-");
        await row.waitFor();
        await page.keyboard.press("Escape");
        await page.setViewportSize({ width: 390, height: 844 });
        await row.getByRole("button", { name: `More for ${one.name}` }).waitFor();
        await picture(page, "list-arranged-390");
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        check(wide <= 390, `the page is ${wide} wide`);
      } finally {
        await cleanUp(page, one.id);
        await cleanUp(page, other.id);
      }
    },
  ],
];
