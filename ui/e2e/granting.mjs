// Who may do what: the grid by the keyboard alone, why a person may or may not, and their view of it.
import {
  accessible,
  api,
  check,
  freshName,
  picture,
  same,
  send,
  signIn,
  until,
} from "./browser.mjs";
import { tabTo } from "./keyboard.mjs";
import { fits } from "./looks.mjs";
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

const count = (length, make) => Array.from({ length }, (_, i) => make(String(i).padStart(2, "0")));

/** A hundred projects and twenty teams; they go with the story. */
async function many(page) {
  const tail = freshName("many");
  const projects = count(100, (i) => `${tail}-p${i}`);
  const teams = count(20, (i) => `${tail}-t${i}`);
  for (const name of projects) await send(page, "PUT", `/projects/${name}`, { resources: {} });
  for (const name of teams) await send(page, "PUT", `/teams/${name}`, { members: [], grants: [] });
  const leave = async () => {
    for (const name of teams) await send(page, "DELETE", `/teams/${name}`);
    for (const name of projects) await send(page, "DELETE", `/projects/${name}`);
  };
  return { tail, projects, teams, leave };
}

/** In a grid of 20 by 100: what is looked for is found, given at once, and heads stay in sight. */
async function large(page, { tail, projects, teams }) {
  await page.goto("/teams/access");
  const cells = page.locator(".cell");
  await cells.first().waitFor();
  check((await cells.count()) >= 2000, `only ${await cells.count()} cells`);
  const grid = page.getByRole("region", { name: "What each team may do" });
  const corner = page.getByRole("button", { name: `${teams[19]} on ${projects[99]}: nothing` });
  await corner.scrollIntoViewIfNeeded();
  const seen = await corner.boundingBox();
  const box = await grid.boundingBox();
  const head = await page.getByRole("columnheader", { name: projects[99] }).boundingBox();
  const row = await page.getByRole("rowheader", { name: teams[19] }).boundingBox();
  check(head.y >= box.y - 1 && head.y < box.y + 80, "the heads of columns scroll away");
  check(row.x >= box.x - 1 && row.x < box.x + 40, "the heads of rows scroll away");
  check(seen.x >= row.x + row.width - 1, "a cell lies behind the head of its row");
  await picture(page, "access-2000");
  await page.getByRole("searchbox", { name: "Find a team" }).fill(`${tail}-t0`);
  await page.getByRole("searchbox", { name: "Find a project or environment" }).fill(`${tail}-p1`);
  await page.getByText("10 of", { exact: false }).first().waitFor();
  await until("what was looked for", async () => (await cells.count()) === 100);
  // All that is shown of a team, in two presses of keys, and without a question.
  const give = page.getByRole("button", { name: `Give ${teams[3]} access to all that is shown` });
  await give.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("menuitem", { name: /^Give Read on all shown/ }).waitFor();
  await page.keyboard.type("Give Read");
  await page.keyboard.press("Enter");
  await page.locator(".toast", { hasText: "10 grants given" }).waitFor();
  const { grants: given } = await api(page, `/teams/${teams[3]}`);
  same(
    given.map((one) => `${one.project} ${one.level}`).sort(),
    projects.slice(10, 20).map((name) => `${name} read`),
    "what was given",
  );
  await accessible(page, "the grid with what was looked for");
  await picture(page, "access-found");
  await page.goto(`/teams?open=${teams[3]}`);
  await page.getByRole("dialog", { name: teams[3] }).getByText(`project ${projects[12]}`).waitFor();
  await picture(page, "team-grants");
  await fits(page, "a team with its grants");
}

export const stories = [
  [
    "access of twenty teams to a hundred projects: searched, given at once, heads in sight, also in the team's sheet",
    async ({ page }) => {
      await signIn(page);
      const all = await many(page);
      try {
        await large(page, all);
      } finally {
        await all.leave();
      }
    },
  ],
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
