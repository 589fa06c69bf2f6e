// Pages that show much at once: what all machines do together, what people may begin with, and how far an
// installation is.
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

/** Each node with what is used of it, and the deployments of all of them as the API counts them. */
async function fleet(page) {
  await page.goto("/fleet");
  await page.getByRole("heading", { name: "Fleet", level: 1 }).waitFor();
  const machines = page.getByRole("region", { name: "Nodes" }).getByRole("listitem");
  const { items } = await api(page, "/nodes");
  const named = async () =>
    (await machines.locator(".who a").allInnerTexts()).sort().join(" ") ===
    items
      .map((node) => node.name)
      .sort()
      .join(" ");
  // promise: N-325
  await until("each node is listed", named);
  const used = () => machines.getByText(/\d.* of \d.* used/).count();
  // promise: N-325
  await until("use of CPU, memory and disk", async () => (await used()) >= 3);
  const figures = page.getByRole("region", { name: "Deployments and runs" });
  // promise: N-325
  await until("the deployments as the API counts them", async () => {
    const list = await api(page, "/deployments?limit=500");
    const ready = list.items.filter((one) => one.status === "ready").length;
    const said = await figures.innerText();
    return ready === 0 ? !/\d+ ready/.test(said) : said.includes(`${ready} ready`);
  });
  await curves(page);
  await accessible(page, "the fleet");
  await picture(page, "fleet-story");
}

/** The same nodes in their environments, each with what runs on it; narrowed to what needs a person. */
async function topology(page) {
  await page.getByRole("link", { name: "Topology" }).click();
  await page.getByRole("heading", { name: "Topology", level: 1 }).waitFor();
  const { items: nodes } = await api(page, "/nodes");
  const { items: runs } = await api(page, "/deployments?limit=500");
  for (const { name, environment } of nodes) {
    const host = page
      .getByRole("region", { name: environment, exact: true })
      .locator(".host")
      .filter({ has: page.getByRole("link", { name, exact: true }) });
    await host
      .getByText(/\d.* of \d.* used/)
      .first()
      .waitFor();
    const own = runs.filter((one) => one.node === name).slice(0, 24);
    await until(`what runs on ${name}`, async () => {
      const said = await host.locator(".runs").allInnerTexts();
      return own.every((one) => said.join().includes(one.name));
    });
  }
  await accessible(page, "the topology");
  await picture(page, "topology");
  await page.setViewportSize({ width: 390, height: 844 });
  await picture(page, "topology-390");
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  check(wide <= 390, `the page is ${wide} wide`);
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.getByRole("button", { name: "Only what needs attention" }).click();
  const needs = (one) => ["failed", "stuck"].includes(one.status) || one.condition === "degraded";
  if (!runs.some(needs) && nodes.every(({ status }) => status === "online"))
    await page.getByText("Nothing here needs attention.").waitFor();
}

const BYTES = { B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 };

/** What is said beside a curve, such as "120 GB", in bytes. */
function bytesIn(text) {
  const [, count, unit] = /([\d.]+) ([kMGT]?B)/.exec(text) ?? [];
  return Number(count) * BYTES[unit];
}

/** The last value of a curve is the sum of what the nodes measured; how far back is in the address. */
async function curves(page) {
  const region = page.getByRole("region", { name: "Use of all nodes" });
  const figure = (name) => region.getByRole("figure", { name: new RegExp(`^${name}`) });
  // promise: N-325
  await until(
    "the free disk of all nodes is what they measured",
    async () => {
      const { items } = await api(page, "/nodes");
      const heard = items.filter((node) => node.status === "online");
      const free = heard.reduce((sum, node) => sum + (node.vitals?.disk_free ?? 0), 0);
      const said = bytesIn(await figure("Disk free").innerText());
      return free > 0 && Math.abs(said - free) < free / 10;
    },
    180_000,
  );
  check(bytesIn(await figure("Memory in use").innerText()) > 0, "no memory is in use");
  await region.getByRole("button", { name: "7 d" }).click();
  await page.waitForURL(/[?&]span=week/);
  await page.reload();
  await region.getByRole("button", { name: "7 d", pressed: true }).waitFor();
  await figure("Disk free").waitFor();
  await unreadCurves(page, region);
}

/** Where one node's measurements can't be read there is no sum, and it is said. */
async function unreadCurves(page, region) {
  const path = "**/api/v1/nodes/*/metrics?**";
  await page.route(path, (route) => route.fulfill({ status: 503, body: "" }));
  await page.goto("/fleet");
  await region.getByText("What the nodes used could not be read.").waitFor();
  same(await region.getByRole("figure").count(), 0, "curves of what could not be read");
  await page.unroute(path);
  await region.getByRole("button", { name: "Try again" }).click();
  await region.getByRole("figure").first().waitFor();
}

const chosen = (page, step) => page.locator(`button.in[data-step="${step}"]`);

/** Choices are kept under a name, and who creates next begins with them. */
async function template(page, name) {
  await page.goto("/deployments/new?project=shop");
  const sheet = page.getByRole("dialog", { name: "New deployment" });
  await chosen(sheet, "api").click();
  const picker = page.getByRole("dialog", { name: "Version of api" });
  await picker.getByTitle("v1.0.1", { exact: true }).click();
  await picker.waitFor({ state: "detached" });
  await sheet.getByRole("button", { name: "Save as template" }).click();
  const asks = page.getByRole("dialog", { name: "Save as template" });
  await asks.getByLabel("Template name").fill(name);
  await asks.getByRole("button", { name: "Save as template" }).click();
  await page.locator(".toast", { hasText: `Template ${name} is saved` }).waitFor();
  const stored = await api(page, `/projects/shop/templates/${name}`);
  same([stored.versions.api, stored.environment], ["v1.0.1", "qa"], "what was saved");
}

async function begins(page, name) {
  await page.goto("/deployments/new?project=shop");
  const sheet = page.getByRole("dialog", { name: "New deployment" });
  await chosen(sheet, "api").waitFor();
  const says = async () => (await chosen(sheet, "api").getAttribute("aria-label")) ?? "";
  check(!(await says()).endsWith("v1.0.1"), "the version is the default one");
  await sheet.getByRole("combobox", { name: /^Template/ }).click();
  await page.getByRole("option", { name }).click();
  // promise: N-328
  await until("the template's version is filled in", async () => (await says()).endsWith("v1.0.1"));
  // A link begins with it as well.
  await page.reload();
  // promise: N-328
  await until("the link's template is filled in", async () => (await says()).endsWith("v1.0.1"));
  await accessible(page, "a sheet that begins with a template");
  await page.goto("/templates?project=shop");
  await page.getByRole("link", { name, exact: true }).waitFor();
}

/** How far this installation is: each step as the API says it is, and offered where the way is not yet gone. */
async function firstRun(page) {
  await page.goto("/start");
  const way = page.getByRole("list", { name: "Your first deployment" });
  const step = (title) =>
    way.getByRole("listitem").filter({ has: page.getByRole("heading", { name: title }) });
  const { items: nodes } = await api(page, "/nodes");
  const names = nodes.filter((node) => node.status === "online").map((node) => node.name);
  await step("A node").getByText("Done", { exact: true }).waitFor();
  const said = await step("A node").innerText();
  check(
    names.some((name) => said.includes(`${name} is online`)),
    `the step of the node says ${said}`,
  );
  for (const title of ["A registry", "An environment", "A service", "A project with a pipeline"])
    await step(title).getByText("Done", { exact: true }).waitFor();
  await page.getByText(/^\d of 9 done/).waitFor();
  await page
    .getByRole("list", { name: "Before you begin" })
    .getByText(/Secrets are sealed under the key/)
    .waitFor();
  await accessible(page, "the first run");
  await picture(page, "start-story");
  await page.getByRole("button", { name: "Leave, keep my place" }).click();
  await page.getByRole("heading", { name: "Deployments", level: 1 }).waitFor();
  await offered(page);
}

/** In the sidebar of whatever page is opened first, as long as nothing is ready. */
async function offered(page) {
  const list = await api(page, "/deployments?status=ready&limit=1");
  await page.goto("/nodes");
  await page.getByRole("heading", { name: "Nodes", level: 1 }).waitFor();
  const item = page.locator(".side").getByRole("link", { name: "First run" });
  const wanted = list.items.length > 0 ? 0 : 1;
  await until(
    "the first run is offered as it should be",
    async () => (await item.count()) === wanted,
  );
}

export const stories = [
  [
    "the fleet page tells how all machines and deployments are",
    async ({ page }) => {
      await signIn(page);
      await fleet(page);
      await topology(page);
    },
  ],
  [
    "choices are saved as a template, and a new deployment begins with them",
    async ({ page }) => {
      const name = freshName("begin");
      await signIn(page);
      try {
        await template(page, name);
        await begins(page, name);
      } finally {
        await send(page, "DELETE", `/projects/shop/templates/${name}`).catch(() => undefined);
      }
    },
  ],
  [
    "the first run shows how far this installation is, and can be left",
    async ({ page }) => {
      await signIn(page);
      await firstRun(page);
    },
  ],
];
