// The main job, as an engineer does it.
import { api, check, freshName, picture, RUN, same, send, signIn, until } from "./browser.mjs";
import { freeze, written } from "./engine.mjs";
import { parentOfCreate, traced } from "./trace.mjs";

/** Fills the sheet and creates; returns the deployment as the API has it. */
export async function create(page, name, project = "shop") {
  await page.goto(`/deployments/new?project=${project}`);
  const sheet = page.getByRole("dialog", { name: "New deployment" });
  await sheet.getByLabel("Name").fill(name);
  await sheet.getByRole("button", { name: /^Create deployment/ }).click();
  await page.waitForURL(new RegExp(`/deployments/[^/]+/${name}`)).catch(async () => {
    throw new Error(`${name} was not created: ${await sheet.innerText()}`);
  });
  const environment = new URL(page.url()).pathname.split("/")[2];
  const found = await api(page, `/deployments?environment=${environment}&name=${name}&limit=1`);
  return found.items[0];
}

/** Deletes by the API what a story has made; waits until it is gone. */
export async function cleanUp(page, id) {
  await page.evaluate(
    (url) => fetch(url, { method: "DELETE" }),
    `/api/v1/deployments/${id}?anyway=true`,
  );
  const gone = ["removed", "canceled", "forgotten"];
  await until(
    "clean up",
    async () => gone.includes((await api(page, `/deployments/${id}`)).status),
    RUN,
  );
}

/** The word of the state beside the deployment's name. */
export function pill(page) {
  return page.locator(".dh .pill");
}

export const stories = [
  [
    "create with the tag picker, watch it become ready, open its URL, read logs, delete",
    async ({ page, context }) => {
      const name = freshName("story");
      await signIn(page);
      await page
        .getByRole("link", { name: /New deployment/ })
        .first()
        .click();
      const sheet = page.getByRole("dialog", { name: "New deployment" });
      await sheet.getByLabel("Name").fill(name);
      const chosen = await pickTag(page, sheet);
      await picture(page, "create");
      const parent = parentOfCreate(page);
      await sheet.getByRole("button", { name: /^Create deployment/ }).click();
      await page.waitForURL(new RegExp(`/${name}/run`));

      const id = await watch(page, name, chosen);
      await countdown(page, id, context);
      await openUrl(page, context);
      await traced(await parent, await api(page, `/deployments/${id}/runs/1`));
      await readServiceLogs(page, id);
      await unwell(page, id);
      await remove(page, name, id);
    },
  ],
  [
    "a refused create says what and where, and keeps what was typed",
    async ({ page }) => {
      await signIn(page, "/deployments/new");
      const sheet = page.getByRole("dialog", { name: "New deployment" });
      await sheet.getByLabel("Name").fill("Not_A_Name");
      await sheet.getByRole("button", { name: /^Create deployment/ }).click();
      await sheet
        .getByText(/Use small letters, digits and hyphens/)
        .first()
        .waitFor();
      same(
        await sheet.getByLabel("Name").getAttribute("aria-invalid"),
        "true",
        "the field is marked",
      );
      same(await sheet.getByLabel("Name").inputValue(), "Not_A_Name", "what was typed");
      check(page.url().includes("/deployments/new"), "the sheet was left");
      same(
        await sheet.getByText(/Use small letters, digits and hyphens/).count(),
        1,
        "times that the refusal is said",
      );
      await isTaken(page, sheet);
    },
  ],
  [
    "a page that is on its way has its own outline already",
    async ({ page }) => {
      await signIn(page);
      for (const [path, chunk, shape] of [
        ["/nodes", "Nodes", "list"],
        ["/urls", "Urls", "cards"],
        ["/settings", "Settings", "form"],
        ["/d/no-such-id", "Deployment", "deployment"],
        ["/projects/shop/pipeline", "Editor", "editor"],
        ["/deployments/new", "Create", "sheet"],
      ])
        await outlined(page, path, chunk, shape);
    },
  ],
  [
    "what is not there is not found, and says so",
    async ({ page }) => {
      await signIn(page, "/deployments/nowhere/nothing");
      await page.getByText("Not found, or you have no access").waitFor();
    },
  ],
];

/** The checks say at the field that a name is taken, before anything was tried, and nowhere else. */
async function isTaken(page, sheet) {
  const name = freshName("taken");
  const made = await create(page, name);
  try {
    await page.goto(`/deployments/new?project=shop&env=${made.environment}`);
    const field = sheet.getByLabel("Name");
    await field.fill(name);
    const alert = sheet.getByRole("alert");
    await alert.waitFor();
    const said = await alert.innerText();
    check(/^[A-Z].*\. .+\.$/.test(said), `the refusal is “${said}”`);
    same(await sheet.getByText(said).count(), 1, "times that it is said");
    await sheet.getByLabel("Labels its node must have").focus();
    await sheet.getByRole("button", { name: "1 thing to fix" }).click();
    check(await field.evaluate((one) => one === document.activeElement), "the field has the focus");
    await picture(page, "create-taken");
    await page.setViewportSize({ width: 390, height: 844 });
    await picture(page, "create-taken-390");
    await page.setViewportSize({ width: 1440, height: 900 });
    await sheet.getByRole("button", { name: /^Create deployment/ }).click();
    await sheet.getByRole("button", { name: "1 thing to fix" }).waitFor();
    same(await sheet.getByText(said).count(), 1, "times that it is said once it was refused");
  } finally {
    await cleanUp(page, made.id);
  }
}

/** While the script of a page is on its way, what is seen has the shape of that page. */
async function outlined(page, path, chunk, shape) {
  const script = new RegExp(`/assets/${chunk}-[^/]+\\.js$`);
  let arrive;
  const held = new Promise((resolve) => {
    arrive = resolve;
  });
  await page.route(script, async (route) => {
    await held;
    await route.continue();
  });
  const outline = page.locator(`[data-shape="${shape}"]`);
  await page.goto(path, { waitUntil: "commit" });
  await outline.waitFor();
  await picture(page, `outline-${shape}`);
  arrive();
  await outline.waitFor({ state: "detached" });
  await page.unroute(script);
}

/** Opens the first picker, searches, switches the order, and takes another tag if there is one. */
async function pickTag(page, sheet) {
  const pinned = sheet.locator(".sv.pin");
  // The shop has a database, whose tag is the admin's to choose, and two services of people's choice.
  // promise: N-031
  same(await pinned.count(), 1, "pinned services");
  // promise: N-031
  same(await sheet.locator("button.in[data-step]").count(), 2, "pickers");
  const { services } = await api(page, "/projects/shop");
  const { tag } = services.find((one) => one.tag_mode === "pinned");
  // promise: N-026
  same(await pinned.first().locator(".locked .mono").innerText(), tag, "the pinned tag");
  // promise: N-026
  same(await pinned.locator("input, button").count(), 0, "controls on pinned services");
  const trigger = sheet.locator("button.in[data-step]").first();
  const step = await trigger.getAttribute("data-step");
  const before = await trigger.getAttribute("aria-label");
  await trigger.click();
  const picker = page.getByRole("dialog", { name: `Version of ${step}` });
  const options = picker.getByRole("option");
  await options.first().waitFor();
  await picker.getByRole("button", { name: "Version", exact: true }).click();
  same(
    await picker.getByRole("button", { name: "Version", exact: true }).getAttribute("aria-pressed"),
    "true",
    "order",
  );
  const search = picker.getByRole("combobox", { name: "Search tags" });
  await search.fill("no-such-tag-anywhere");
  await picker.getByText(/No tag contains/).waitFor();
  await search.fill("");
  await options.first().waitFor();
  await picture(page, "tag-picker");
  const titles = await options.evaluateAll((all) => all.map((one) => one.title));
  const chosen = titles.find((title) => !before.endsWith(title)) ?? titles[0];
  await picker.getByTitle(chosen, { exact: true }).click();
  await picker.waitFor({ state: "detached" });
  await sheet.getByRole("button", { name: `Version of ${step}: ${chosen}` }).waitFor();
  return { step, tag: chosen };
}

/** Watches the graph without a reload, until every step is done; its log lines came live. */
async function watch(page, name, chosen) {
  await page.evaluate(() => {
    window.stayed = true;
  });
  const environment = new URL(page.url()).pathname.split("/")[2];
  const { items } = await api(page, `/deployments?environment=${environment}&name=${name}&limit=1`);
  const deployment = items[0];
  const tag = deployment.versions.find((version) => version.step === chosen.step)?.tag;
  // promise: N-027
  same(tag, chosen.tag, "the chosen tag was taken");
  const nodes = page.locator(".gp [data-step]");
  await until("the graph", async () => (await nodes.count()) === deployment.steps_total);
  const seen = new Set();
  await until(
    "ready",
    async () => {
      for (const state of await nodes.evaluateAll((all) => all.map((one) => one.dataset.st)))
        seen.add(state);
      const word = await pill(page).innerText();
      check(!/Failed|Stuck/.test(word), `it is ${word}: ${await page.locator(".dh").innerText()}`);
      // promise: N-250
      return word === "Ready";
    },
    RUN,
  );
  const drawn = await page.locator(".gp path.edge").count();
  check(drawn >= deployment.steps_total - 1, `only ${drawn} edges are drawn`);
  check(seen.has("running") || seen.has("pulling"), `no step was seen at work, only ${[...seen]}`);
  await until(
    "every step done",
    async () => await nodes.evaluateAll((all) => all.every((one) => one.dataset.st === "done")),
  );
  check(await page.evaluate(() => window.stayed), "the page was loaded again");
  await picture(page, "run-ready");
  await compareLogs(page, deployment.id, 1);
  return deployment.id;
}

/** The page says how long the deployment has, as soon as there is a rule; and nothing pauses it. */
async function countdown(page, id, context) {
  const { environment, expires_at: before } = await api(page, `/deployments/${id}`);
  same(before, undefined, "its end without a rule");
  same(await page.getByText(/ left$/).count(), 0, "countdowns without a rule");
  const { domain, description, restricted, placement, capacity } = await api(
    page,
    `/environments/${environment}`,
  );
  const rule = { domain, description, restricted, placement, capacity };
  const path = `/environments/${environment}`;
  await send(page, "PUT", path, { ...rule, cleanup_after_hours: 48 });
  await page.reload();
  await falls(context, id);
  const acts = page.getByRole("button", { name: /pause|suspend|hibernate|sleep|stop|freeze/i });
  // promise: N-269
  same(await acts.count(), 0, "buttons that pause");
  await send(page, "PUT", path, rule);
  await page.reload();
}

/** What is left is on the page, and three hours later three hours less. */
async function falls(context, id) {
  const page = await context.newPage();
  try {
    await page.goto(`/d/${id}`);
    const shown = page.getByText(/^\d.* left$/).first();
    const hours = async () => {
      const [, days = 0, rest = 0] = /^(?:(\d+) d)? ?(?:(\d+) h)? left$/.exec(
        await shown.innerText(),
      );
      return Number(days) * 24 + Number(rest);
    };
    const first = await hours();
    check([47, 48].includes(first), `${first} hours are left of 48`);
    await page.clock.setSystemTime(Date.now() + 3 * 3_600_000);
    // promise: N-265
    await until("three hours less", async () => [44, 45].includes(await hours()));
  } finally {
    await page.close();
  }
}

/**
 * Every step's log on the page is what the API has, however long: each line with its number and its
 * words, none missing, none twice, in that order. Gives the steps that were compared.
 */
export async function compareLogs(page, id, run) {
  const { steps } = await api(page, `/deployments/${id}/runs/${run}`);
  const compared = [];
  for (const step of steps.filter((one) => one.kind === "plugin")) {
    const wanted = await wholeLog(page, `/deployments/${id}/runs/${run}/steps/${step.key}/log`);
    if (wanted.length === 0) continue;
    await page.locator(`.gp [data-step="${step.key}"]`).click();
    await page.getByRole("log", { name: `Log of ${step.key}`, exact: true }).waitFor();
    const count = page.locator(".logbox .lf span").first();
    await until(
      `${wanted.length} lines of ${step.key}`,
      async () => digits(await count.innerText()) === wanted.length,
    );
    await showRaw(page);
    same(await drawnLog(page), wanted, `the log of ${step.key}`);
    compared.push(step.key);
  }
  check(compared.length > 0, "no step wrote a log that could be compared");
  return compared;
}

/** Has a log of records show lines as they were written, and not their message and fields. */
async function showRaw(page) {
  const raw = page.getByRole("button", {
    name: "Show lines as they were written",
    pressed: false,
  });
  if ((await raw.count()) > 0) await raw.click();
}

const digits = (text) => Number(text.replace(/\D/g, ""));

/** Numbers and words of a step's log as the API has them; colours are not words. */
async function wholeLog(page, path) {
  const all = [];
  for (let more = true; more; ) {
    const read = await api(page, `${path}?limit=5000&after=${all.length && all.at(-1).number}`);
    all.push(...read.items);
    more = read.more && read.items.length > 0;
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is how colours begin
  return all.map(({ number, text }) => [number, text.replace(/\u001b\[[\d;]*m/g, "")]);
}

/** The same as it is drawn, from top to bottom; only the lines in sight exist at a time. */
function drawnLog(page) {
  return page.locator(".logbox .log").evaluate(async (box) => {
    const settled = () =>
      new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const drawn = new Map();
    const read = () => {
      const lines = [...box.querySelectorAll(".ln[data-index]")];
      lines.sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top);
      for (const line of lines) {
        const words = [...line.children].at(-1).textContent;
        drawn.set(line.dataset.index, [Number(line.querySelector(".k").textContent), words]);
      }
    };
    box.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
    box.scrollTop = 0;
    await settled();
    for (;;) {
      read();
      const before = box.scrollTop;
      box.scrollTop += box.clientHeight / 2;
      await settled();
      if (box.scrollTop === before) break;
    }
    read();
    return [...drawn.values()];
  });
}

async function openUrl(page, context) {
  await page
    .getByRole("navigation", { name: "Deployment", exact: true })
    .getByRole("link", { name: /^Services/ })
    .click();
  // promise: N-284
  await page
    .getByText(/^Healthy$/)
    .first()
    .waitFor();
  await picture(page, "services");
  // Nothing on the page is larger than where it can be opened.
  const sizes = await page
    .locator(".main *, main *")
    .evaluateAll((all) =>
      all.map((one) => [one.className, Number.parseFloat(getComputedStyle(one).fontSize)]),
    );
  const largest = sizes.reduce((most, one) => (one[1] > most[1] ? one : most), ["", 0]);
  same(await page.locator(".mainurl a").count(), 1, "the main URL");
  const size = await page
    .locator(".mainurl a")
    .evaluate((one) => Number.parseFloat(getComputedStyle(one).fontSize));
  check(size >= largest[1], `${largest} is larger than the main URL`);
  const link = page.locator(".sr .u a").first();
  await link.waitFor({ timeout: 30_000 });
  const url = await link.getAttribute("href");
  const other = await context.newPage();
  await until(
    `${url} answers`,
    async () => (await other.goto(url).catch(() => null))?.status() === 200,
    30_000,
  );
  check((await other.locator("body").innerText()).trim().length > 0, `${url} is empty`);
  await other.close();
}

/** Each service's log can be opened, and has lines that this service alone has written. */
async function readServiceLogs(page, id) {
  const { services } = await api(page, `/deployments/${id}`);
  same(services.length, 3, "services of the shop");
  const lines = {};
  for (const { step } of services) lines[step] = await written(id, step);
  for (const { step } of services) {
    const others = services.filter((one) => one.step !== step).flatMap((one) => lines[one.step]);
    const own = lines[step].filter((line) => !others.includes(line));
    await service(page, step).getByRole("link", { name: "Log" }).click();
    await page.waitForURL((url) => url.searchParams.get("log") === step);
    const log = page.getByRole("log", { name: `Log of ${step}`, exact: true });
    // promise: N-280
    await until(`a line of ${step} alone`, async () => {
      await showRaw(page);
      const shown = await log.locator(".ln > span:last-child").allInnerTexts();
      return shown.some((line) => own.includes(line));
    });
    await page.getByRole("link", { name: "Hide the log" }).click();
    await page.locator(".log").waitFor({ state: "detached" });
  }
}

/** The row of a service among those of its deployment. */
function service(page, step) {
  return page.locator(".sr").filter({ has: page.getByText(step, { exact: true }) });
}

/** A service whose processes stand still is unhealthy, and healthy again once they go on. */
async function unwell(page, id) {
  await page.goto(`/d/${id}/services`);
  const said = (word) => service(page, "web").getByText(word, { exact: true });
  await said("Healthy").waitFor();
  const thaw = await freeze(id, "web");
  try {
    // promise: N-284
    await said("Unhealthy").waitFor({ timeout: RUN });
    same(await service(page, "api").getByText("Healthy").count(), 1, "the service beside it");
    await service(page, "web").locator(".why").waitFor();
    await picture(page, "unhealthy");
  } finally {
    await thaw();
  }
  // promise: N-284
  await said("Healthy").waitFor({ timeout: RUN });
}

async function remove(page, name, id) {
  await page.getByRole("button", { name: "Delete" }).click();
  const question = page.getByRole("dialog", { name: `Delete ${name}?` });
  await question.getByText(/every volume with its data is erased/).waitFor();
  await picture(page, "delete");
  await question.getByRole("button", { name: "Delete" }).click();
  await until("removed", async () => (await pill(page).innerText()) === "Removed", RUN);
  same((await api(page, `/deployments/${id}`)).status, "removed", "the API's word");
  await page.goto("/deployments");
  await page.locator(".body[aria-busy=false]").waitFor();
  same(await page.getByRole("link", { name, exact: true }).count(), 0, "rows of that name");
  await page.goto(`/deployments?view=removed&q=${name}`);
  await page.getByRole("link", { name, exact: true }).click();
  await page.waitForURL(new RegExp(`/d/${id}`));
  await page.getByText("This deployment was removed").waitFor();
}
