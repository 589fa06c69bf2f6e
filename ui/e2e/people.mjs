// An engineer and a viewer, neither of them an admin.
import {
  accessible,
  api,
  check,
  freshName,
  open,
  picture,
  RUN,
  same,
  send,
  signIn,
  until,
} from "./browser.mjs";
import { cleanUp, pill } from "./main.mjs";

const WORD = "correct-horse-battery-9";

/** Two people with a team each, who may change and read the projects; they go with the story. */
export async function invite(page, projects = ["shop"]) {
  const tail = Date.now().toString(36);
  const people = {
    engineer: { name: `lena-${tail}`, password: WORD, level: "full" },
    viewer: { name: `aiko-${tail}`, password: WORD, level: "read" },
  };
  for (const one of Object.values(people)) {
    await send(page, "PUT", `/users/${one.name}`, { role: "user", password: one.password });
    await send(page, "PUT", `/teams/${one.name}`, {
      members: [one.name],
      grants: projects.map((project) => ({ project, level: one.level })),
    });
  }
  const leave = async () => {
    for (const one of Object.values(people)) {
      await send(page, "DELETE", `/teams/${one.name}`);
      await send(page, "DELETE", `/users/${one.name}`);
    }
  };
  return { ...people, leave };
}

/** The sheet: one label for what is pinned, a picker for each other service, no word of room. */
async function sheetOf(page, name) {
  await page
    .getByRole("link", { name: /New deployment/ })
    .first()
    .click();
  const sheet = page.getByRole("dialog", { name: "New deployment" });
  await sheet.locator("button.in[data-step]").first().waitFor();
  // promise: N-031
  same(await sheet.locator(".sv.pin").count(), 1, "labels of pinned services");
  // promise: N-031
  same(await sheet.locator("button.in[data-step]").count(), 2, "pickers of selectable services");
  await sheet.getByLabel("Name").fill(name);
  await sheet.getByText(/ checks? passed/).waitFor({ timeout: 60_000 });
  const said = await sheet.innerText();
  const room = said.match(/\bfree\b|has room|of \d[\d.]* (CPU|GB)/i);
  // promise: N-133
  check(!room, `the sheet tells of free room: ${room?.[0]}`);
  return sheet;
}

/** From nothing to ready by the pages alone; what is not theirs is not in the sidebar. */
async function makes(page, name) {
  const sheet = await sheetOf(page, name);
  const trigger = sheet.locator("button.in[data-step]").first();
  const step = await trigger.getAttribute("data-step");
  await trigger.click();
  const picker = page.getByRole("dialog", { name: `Version of ${step}` });
  await picker.getByRole("option").first().waitFor();
  const tag = await picker.getByRole("option").last().getAttribute("title");
  await picker.getByTitle(tag, { exact: true }).click();
  await sheet.getByRole("button", { name: /^Create deployment/ }).click();
  await page.waitForURL(new RegExp(`/${name}/run`));
  await until("ready", async () => (await pill(page).innerText()) === "Ready", RUN);
  const { items } = await api(page, `/deployments?name=${name}&limit=1`);
  await page.goto("/deployments");
  const row = page.locator(`[data-id="${items[0].id}"]`);
  await row.waitFor();
  // The row has room for one version; the others are in its title.
  const told = await row.locator(".chip[title]").first().getAttribute("title");
  // promise: N-003
  check(told?.split("\n").includes(`${step} ${tag}`), `the list says ${told}, not ${step} ${tag}`);
  // promise: N-003
  same(items[0].versions.find((one) => one.step === step)?.tag, tag, "the version chosen");
  return items[0];
}

/** Clones what is ready with one other version; both run then, and differ in that one alone. */
async function clones(page, source, name) {
  await page.goto(`/d/${source.id}/run`);
  await page.locator(".acts").getByRole("link", { name: "Clone", exact: true }).click();
  const sheet = page.getByRole("dialog", { name: `Clone ${source.name}` });
  const trigger = sheet.locator("button.in[data-step]").first();
  const step = await trigger.getAttribute("data-step");
  const had = source.versions.find((one) => one.step === step).tag;
  await trigger.click();
  const options = page.getByRole("dialog", { name: `Version of ${step}` }).getByRole("option");
  await options.first().waitFor();
  const tags = await options.evaluateAll((all) => all.map((one) => one.title));
  const tag = tags.find((one) => one && one !== had);
  await options.and(page.getByTitle(tag, { exact: true })).click();
  await sheet.getByLabel("Name").fill(name);
  await sheet.getByRole("button", { name: /^Create/ }).click();
  await page.waitForURL(new RegExp(`/${name}/run`));
  const { items } = await api(page, `/deployments?name=${name}&limit=1`);
  return { ...items[0], chosen: { step, tag } };
}

async function bothRun(page, source, clone) {
  await until("the clone is ready", async () => (await pill(page).innerText()) === "Ready", RUN);
  const [before, after] = [
    await api(page, `/deployments/${source.id}`),
    await api(page, `/deployments/${clone.id}`),
  ];
  same([before.status, after.status], ["ready", "ready"], "the states of both");
  const of = ({ versions }) => versions.map(({ step, tag }) => ({ step, tag }));
  const differ = of(after).filter(
    (one) => !of(before).some((was) => was.step === one.step && was.tag === one.tag),
  );
  same(differ, [clone.chosen], "what differs between a deployment and its clone");
}

const ADMINS = [
  ["Nodes", "/nodes"],
  ["Plugins", "/plugins"],
  ["Registries", "/registries"],
  ["Users", "/users"],
  ["Teams", "/teams"],
  ["Rules", "/rules"],
  ["Webhooks", "/webhooks"],
];

/** Two interfaces in one: what admins define is a page each, and not a link for others. */
async function surfaces(admins, mine) {
  for (const [name, path] of ADMINS) {
    await admins.getByRole("link", { name, exact: true }).click();
    // promise: N-305
    await admins.waitForURL(new RegExp(`${path}$`));
    await admins.getByRole("heading", { name, level: 1 }).first().waitFor();
  }
  await mine
    .getByRole("link", { name: /New deployment/ })
    .first()
    .waitFor();
  // promise: N-305
  for (const name of ["Nodes", "Secrets", "Users", "Webhooks"])
    same(await mine.getByRole("link", { name, exact: true }).count(), 0, `links to ${name}`);
}

/** A viewer opens what there is, and the API refuses them what the page does not offer. */
async function onlyLooks(page, made) {
  await page.goto(`/d/${made.id}/services`);
  await pill(page).waitFor();
  await accessible(page, "a deployment that may only be looked at");
  const refused = await page.evaluate(
    async (url) => (await fetch(url, { method: "DELETE" })).status,
    `/api/v1/deployments/${made.id}`,
  );
  same(refused, 403, "deleting by the API as a viewer");
  await picture(page, "viewer");
}

/** The deployment compared with itself's twin is in the address; here with one that is gone. */
async function compares(page, made) {
  const all = await api(page, "/deployments?removed=true&limit=50");
  const other = all.items.find((one) => one.id !== made.id);
  if (!other) return;
  await page.goto(`/deployments/diff?a=${made.id}&b=${other.id}`);
  const { fields } = await api(page, `/deployments/${made.id}/diff?with=${other.id}`);
  await until(
    "every field that differs",
    async () => (await page.locator(".tbl tbody tr").count()) === fields.length,
  );
  await accessible(page, "the comparison of two deployments");
  await picture(page, "diff");
}

export const stories = [
  [
    "an engineer creates, clones, opens and deletes by the pages alone; a viewer only looks",
    async ({ page, browser }) => {
      await signIn(page);
      const { engineer, viewer, leave } = await invite(page);
      const [mine, theirs] = [await open(browser), await open(browser)];
      let made;
      let cloned;
      try {
        await signIn(mine.page, "/deployments", engineer);
        await surfaces(page, mine.page);
        made = await makes(mine.page, freshName("theirs"));
        await compares(mine.page, made);
        cloned = await clones(mine.page, made, freshName("twin"));
        await bothRun(mine.page, made, cloned);
        await cleanUp(page, cloned.id);
        cloned = undefined;
        await signIn(theirs.page, `/d/${made.id}/services`, viewer);
        await onlyLooks(theirs.page, made);
        await opensAndDeletes(mine, made);
        made = undefined;
      } finally {
        if (cloned) await cleanUp(page, cloned.id);
        if (made) await cleanUp(page, made.id);
        await mine.context.close();
        await theirs.context.close();
        await leave();
      }
    },
  ],
  [
    "where no node has room, the refusal names the node and what it lacks; nothing did before",
    async ({ page, browser }) => {
      await signIn(page);
      const project = freshName("huge");
      const memory = { memory_mib: HUGE };
      await send(page, "PUT", `/projects/${project}`, { resources: memory });
      const steps = [{ key: "web", needs: [], service: { name: "shop-web", resources: memory } }];
      await send(page, "PUT", `/projects/${project}/pipeline`, { pipeline: { steps } });
      const { engineer, leave } = await invite(page, [project]);
      const mine = await open(browser);
      try {
        const { items } = await api(page, "/nodes");
        const node = items.find((one) => one.status === "online");
        const place = `/deployments/new?project=${project}&env=${node.environment}`;
        await signIn(mine.page, place, engineer);
        await lacksRoom(mine.page, node.name);
      } finally {
        await mine.context.close();
        await leave();
        await send(page, "DELETE", `/projects/${project}`);
      }
    },
  ],
];

/** More memory than any node has, in MiB. */
const HUGE = 4 * 1024 * 1024;
const ROOM = /\bfree\b|has room|of \d[\d.]* (CPU|GB)/i;

/** Until it is known what is to be made, the sheet has no figure; refused, each node's. */
async function lacksRoom(page, name) {
  const sheet = page.getByRole("dialog", { name: "New deployment" });
  await sheet.getByRole("button", { name: /^Version of web: v/ }).waitFor();
  const before = (await sheet.innerText()).match(ROOM);
  // promise: N-133
  check(!before, `before anything failed the sheet says “${before?.[0]}”`);
  await sheet.getByLabel("Name").fill(freshName("huge"));
  await sheet.getByRole("button", { name: /^Create deployment/ }).click();
  const row = sheet.getByRole("row", { name: new RegExp(`^${name}\\b`) }).first();
  await row.waitFor();
  const said = (await row.innerText()).replace(/\s+/g, " ");
  // promise: N-133
  check(
    /asks for 4\.4 TB of memory and the node has \d[\d.]* [GT]B/.test(said),
    `what ${name} lacks is told as “${said}”`,
  );
  await picture(page, "no-room");
}

async function opensAndDeletes({ page, context }, made) {
  await page.goto(`/d/${made.id}/services`);
  const link = page.locator('.sr .u a[href*="//web."]');
  await link.waitFor({ timeout: 60_000 });
  const [tab] = await Promise.all([context.waitForEvent("page"), link.click()]);
  // promise: N-002
  await until(
    "what was opened answers",
    async () =>
      /Corner Shop/.test(
        await tab
          .locator("body")
          .innerText()
          .catch(() => ""),
      ),
    60_000,
  );
  await tab.close();
  await page.getByRole("button", { name: "Delete" }).click();
  const question = page.getByRole("dialog", { name: `Delete ${made.name}?` });
  await question.getByRole("button", { name: "Delete" }).click();
  await until("removed", async () => (await pill(page).innerText()) === "Removed", RUN);
  // promise: N-002
  same((await api(page, `/deployments/${made.id}`)).status, "removed", "the API's word");
}
