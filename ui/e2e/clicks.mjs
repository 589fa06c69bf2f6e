// How many presses of the mouse the main things take, counted in the page: a press, or a drag, is one each. What is
// typed is not counted, and no story here moves the focus by a key.
import { api, check, freshName, picture, RUN, same, send, signIn, until } from "./browser.mjs";
import { draws, dropProject, makeProject, node, saved } from "./editor.mjs";
import { cleanUp, pill } from "./main.mjs";

/** Counts each press from here on, also on pages that are loaded later. */
async function counting(page) {
  await page.addInitScript(() => {
    const key = "clicks";
    window.addEventListener(
      "pointerdown",
      () => sessionStorage.setItem(key, Number(sessionStorage.getItem(key) ?? 0) + 1),
      true,
    );
  });
  return {
    begin: () => page.evaluate(() => sessionStorage.setItem("clicks", 0)),
    count: () => page.evaluate(() => Number(sessionStorage.getItem("clicks"))),
  };
}

const port = (page, key, id) =>
  node(page, key).locator(`.react-flow__handle[data-handleid="${id}"]`);

/** A step after another: the plus of its port, and what it is. */
async function addAfter(page, before, name) {
  await port(page, before, "after").click();
  const picker = page.getByRole("dialog", { name: `Add a step, connected with ${before}` });
  await picker.getByRole("button", { name }).first().click();
  await picker.waitFor({ state: "detached" });
}

const value = (page, from, output, to, path) =>
  draws(
    page,
    port(page, from, `out:${output}`),
    node(page, to).locator(".sb"),
    page.locator(`.react-flow__edge[data-id="value|${from}|${output}|${to}|${path}"]`),
  );

/** From an empty canvas to a published pipeline of four steps that know of each other. */
async function firstPipeline(page, project) {
  const clicks = await counting(page);
  await page.goto(`/projects/${project}/pipeline`);
  await page.getByText("Drag a service here, or press A.").waitFor();
  await clicks.begin();
  const palette = page.getByRole("complementary", { name: "Steps to add" });
  await palette
    .getByRole("button", { name: /^postgres/ })
    .first()
    .click();
  await node(page, "postgres").waitFor();
  await addAfter(page, "postgres", /^shop-api/);
  await addAfter(page, "shop-api", /^shop-web/);
  // The image says which port it listens on.
  await page.getByRole("button", { name: "Take all of it over" }).click();
  await page.getByRole("checkbox", { name: "Open to browsers" }).first().check();
  await addAfter(page, "shop-web", /^http-check/);
  await node(page, "http-check").waitFor();
  await value(page, "postgres", "host", "shop-api", "service.env.POSTGRES_HOST");
  await value(page, "shop-api", "host", "shop-web", "service.env.SHOP_API_HOST");
  await value(page, "shop-web", "url", "http-check", "plugin.parameters.url");
  await saved(page);
  const publish = page.getByRole("button", { name: /^Publish v/ });
  await until(
    "nothing stands in the way",
    async () => (await publish.getAttribute("aria-disabled")) === null,
  );
  await publish.click();
  await page.getByText(/is published\. New deployments/).waitFor();
  const count = await clicks.count();
  await picture(page, "clicks-pipeline");
  const { pipeline } = await api(page, `/projects/${project}/pipeline`);
  same(pipeline.steps.length, 4, "steps of the first pipeline");
  const order = Object.fromEntries(pipeline.steps.map((one) => [one.key, one.needs ?? []]));
  same(order["http-check"], ["shop-web"], "what the last step waits for");
  // promise: U-03
  check(count <= 15, `the first pipeline took ${count} clicks`);
  console.log(`      ${count} clicks to a first pipeline of four steps`);
}

/** From the list to a deployment whose URL is open, at a version of one's own choice. */
async function deployment(page, context) {
  const clicks = await counting(page);
  await page.goto("/deployments");
  await page.locator(".foot").waitFor();
  await clicks.begin();
  const name = freshName("clicked");
  await page
    .getByRole("link", { name: /New deployment/ })
    .first()
    .click();
  const sheet = page.getByRole("dialog", { name: "New deployment" });
  await sheet.getByLabel("Name").fill(name);
  await sheet.locator("button.in[data-step]").first().click();
  await page.getByRole("option").first().click();
  await page.getByRole("listbox").waitFor({ state: "detached" });
  await sheet.getByRole("button", { name: /^Create deployment/ }).click();
  await page.waitForURL(new RegExp(`/${name}/run`));
  const [made] = (await api(page, `/deployments?name=${name}&limit=1`)).items;
  try {
    await until("ready", async () => (await pill(page).innerText()) === "Ready", RUN);
    const link = page.locator('main a[target="_blank"][href^="http"]').first();
    await link.waitFor();
    const [tab] = await Promise.all([context.waitForEvent("page"), link.click()]);
    await tab.close();
    const count = await clicks.count();
    check(count <= 5, `an open deployment took ${count} clicks`);
    console.log(`      ${count} clicks to an open deployment`);
  } finally {
    await cleanUp(page, made.id);
  }
}

/** A team gets a level on a project: its cell, and the level. */
async function grant(page) {
  const team = freshName("granted");
  const clicks = await counting(page);
  await send(page, "PUT", `/teams/${team}`, { members: [], grants: [] });
  try {
    await page.goto(`/teams/access?team=${team}`);
    const cell = page.getByRole("button", { name: `${team} on shop: nothing` });
    await cell.waitFor();
    await clicks.begin();
    await cell.click();
    await page.getByRole("menuitemradio", { name: /^Full/ }).click();
    await page.getByRole("button", { name: `${team} on shop: Full` }).waitFor();
    const count = await clicks.count();
    const { grants } = await api(page, `/teams/${team}`);
    const has = grants.map((one) => `${one.level} ${one.project}`);
    same(has, ["full shop"], "what the team has");
    check(count <= 2, `a grant took ${count} clicks`);
    console.log(`      ${count} clicks to a grant`);
  } finally {
    await send(page, "DELETE", `/teams/${team}`);
  }
}

export const stories = [
  [
    "a grant takes at most two clicks",
    async ({ page }) => {
      await signIn(page);
      await grant(page);
    },
  ],
  [
    "a first pipeline of four steps takes at most fifteen clicks",
    async ({ page }) => {
      const project = freshName("clicks");
      await signIn(page);
      await makeProject(page, project);
      try {
        await firstPipeline(page, project);
      } finally {
        await dropProject(page, project);
      }
    },
  ],
  [
    "a deployment takes at most five clicks, its URL opened",
    async ({ page, context }) => {
      await signIn(page);
      await deployment(page, context);
    },
  ],
];
