// Who may do what: the grid by the keyboard alone, why a person may or may not, and their view of it.
import { accessible, api, check, picture, same, signIn, until } from "./browser.mjs";
import { tabTo } from "./keyboard.mjs";
import { invite } from "./people.mjs";

const answer = (page) => page.locator(".ans");

/** From any cell of the grid to another: it is one stop of Tab, and arrows lead on. */
async function goTo(page, name) {
  await page.locator('.cell[tabindex="0"]').waitFor();
  await tabTo(page, "button", await page.locator('.cell[tabindex="0"]').getAttribute("aria-label"));
  await page.keyboard.press("Control+Home");
  const wanted = await page.getByRole("button", { name, exact: true }).getAttribute("data-cell");
  const [row, column] = wanted.split(":").map(Number);
  for (let i = 0; i < row; i++) await page.keyboard.press("ArrowDown");
  for (let i = 0; i < column; i++) await page.keyboard.press("ArrowRight");
  await focusIs(page, name);
}

const focusIs = (page, name) =>
  until(`the focus is on ${name}`, () =>
    page.evaluate((wanted) => document.activeElement?.getAttribute("aria-label") === wanted, name),
  );

/** Opens the cell's menu and chooses a level. */
async function choose(page, name, level) {
  await goTo(page, name);
  await page.keyboard.press("Enter");
  await page.getByRole("menuitemradio", { name: /^Nothing/ }).waitFor();
  await page.keyboard.type(level);
  await page.keyboard.press("Enter");
}

/** To take asks first: it says whom that reaches. */
async function take(page, name, level, reach) {
  await choose(page, name, level);
  const question = page.getByRole("dialog");
  await question.getByText(reach, { exact: true }).waitFor();
  await accessible(page, "the question before a level is changed");
  await picture(page, "access-question");
  await tabTo(page, "button", "Change it");
  await page.keyboard.press("Enter");
  await question.waitFor({ state: "detached" });
}

/** The grid's answer to what a person can changes with a cell. */
async function grants(page, { viewer }, environment) {
  await page.goto(`/teams/access?person=${viewer.name}&project=shop&on=${environment}`);
  await answer(page)
    .getByText(new RegExp(`Team ${viewer.name} has read access to project shop`))
    .waitFor();
  await answer(page).getByText("No, not yet").waitFor();
  await answer(page).getByText("To allow it,", { exact: false }).waitFor();
  await accessible(page, "the grid of access");
  await picture(page, "access");
  const cell = `${viewer.name} on shop`;
  // To give is no question, and can be taken back where it is said.
  await choose(page, `${cell}: Read`, "Fu");
  await focusIs(page, `${cell}: Full`);
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("button", { name: `${cell}: Read`, exact: true }).waitFor();
  await choose(page, `${cell}: Read`, "Fu");
  await focusIs(page, `${cell}: Full`);
  await answer(page).getByText("Yes", { exact: true }).waitFor();
  await take(page, `${cell}: Full`, "No", "1 person loses Full on shop.");
  await answer(page)
    .getByText(/^It takes Full on/)
    .waitFor();
  const { grants: left } = await api(page, `/teams/${viewer.name}`);
  same(
    left.filter((one) => one.project === "shop"),
    [],
    "what the team has on shop",
  );
}

/** Through the eyes of who has nothing, nothing is seen; the frame says so and gives the own eyes back. */
async function views(page, { engineer }) {
  await page.getByLabel("Can", { exact: true }).selectOption(engineer.name);
  await page.getByRole("button", { name: "View as this user" }).click();
  const frame = page.locator(".viewing");
  await frame.getByText(engineer.name).waitFor();
  same(await page.getByRole("link", { name: "Users", exact: true }).count(), 0, "links to users");
  await accessible(page, "the deployments through somebody's eyes");
  await picture(page, "view-as");
  await frame.getByRole("button").click();
  await page.getByRole("link", { name: "Users", exact: true }).waitFor();
  check((await frame.count()) === 0, "the frame stays");
}

export const stories = [
  [
    "an admin changes a level by the keyboard after reading whom it reaches, asks who can, and views as",
    async ({ page }) => {
      await signIn(page);
      const people = await invite(page);
      try {
        await grants(page, people, "qa");
        await views(page, people);
      } finally {
        await page.evaluate(() => sessionStorage.clear());
        await people.leave();
      }
    },
  ],
];
