// The DevOps engineer's main story: from signing in to a deployment that answers, all of it defined
// through the pages under names of its own; then everything is taken away again the same way.
import {
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
import { draws, node, publish, saved } from "./editor.mjs";
import { cleanUp, pill } from "./main.mjs";
import { added, agent } from "./nodes.mjs";

const WORD = "correct-horse-battery-9";
const toast = (page, text) => page.locator(".toast", { hasText: text }).waitFor();

/** A form as somebody fills it who came by its page's own button. */
async function form(page, path, button, title) {
  await page.goto(path);
  await page.getByRole("button", { name: button }).first().click();
  const sheet = page.getByRole("dialog", { name: title });
  await sheet.waitFor();
  return sheet;
}

async function create(page, sheet, name, act = /^(Create|Save)/) {
  await sheet.getByRole("button", { name: act }).click();
  await toast(page, `${name} is created`);
}

/** The registry that the demo's images are in, by another host; it is asked as soon as it is stored. */
async function registry(page, { registry: name, like }) {
  const sheet = await form(page, "/registries", /^Add registry/, "Add a registry");
  await sheet.getByLabel("Name", { exact: true }).fill(name);
  await sheet.getByLabel("Host").fill(like.registry_host.replace("127.0.0.1", "localhost"));
  await sheet.getByLabel("Plain HTTP").check();
  await create(page, sheet, name); // promise: N-020
  const stored = page.getByRole("dialog", { name });
  await stored.getByText("It answers and accepts the credentials").waitFor();
}

/** An environment, and a machine that joins it by the line that the page shows. */
async function environment(page, { environment: name, machine, there }) {
  const sheet = await form(page, "/environments", /^New environment/, "New environment");
  await sheet.getByLabel("Name", { exact: true }).fill(name);
  await sheet.getByLabel("Domain").fill("lab.example.com");
  await sheet.getByText(`*.${name}.lab.example.com. 300 IN A`, { exact: false }).waitFor();
  await create(page, sheet, name);
  await added(page, machine, name, there);
  await page.goto(`/environments?q=${name}`);
  await page.getByRole("row", { name: new RegExp(`${name}.*1 of 1`) }).waitFor();
}

/** Only releases can be chosen: what the pattern lets through is seen before anything is saved. */
async function service(page, { service: name, registry: from, like }) {
  const sheet = await form(page, "/services", /^Add service/, "Add a service");
  await sheet.getByLabel("Name", { exact: true }).fill(name);
  await sheet.getByLabel("Registry").selectOption(from);
  await sheet.getByRole("textbox", { name: "Image" }).fill(like.image);
  const said = sheet.getByText(/^\d+ of \d+ tags? match/);
  await said.waitFor();
  const all = await said.innerText();
  await sheet.getByLabel(/^Pattern of tags/).fill("v*");
  await until("fewer tags match", async () => (await said.innerText()) !== all);
  const shown = await sheet.locator(".tags .mono").allInnerTexts();
  // promise: N-306
  check(shown.length > 0 && shown.every((tag) => tag.startsWith("v")), `it lets through ${shown}`);
  await sheet.getByLabel(/^Default tag/).fill(shown[0]);
  await create(page, sheet, name);
  return shown[0];
}

/** A project, whose one step is added with the mouse and filled in beside the canvas. */
async function project(page, { project: name, service: what }) {
  const sheet = await form(page, "/projects", /^New project/, "New project");
  await sheet.getByLabel("Name", { exact: true }).fill(name);
  await sheet.getByLabel("Memory, MiB").first().fill("1024");
  await create(page, sheet, name);
  await page.goto(`/projects/${name}/pipeline`);
  await draw(page, what);
  await publish(page);
  const { pipeline } = await api(page, `/projects/${name}/pipeline`);
  const step = pipeline.steps.find(({ key }) => key === "web");
  // promise: N-306
  same(step?.service.ports, [{ name: "http", port: 8080, expose: true }], "what was published");
  same(step?.needs, ["approval"], "what the service waits for");
}

async function draw(page, what) {
  await page.getByText("Drag a service here, or press A.").waitFor();
  const palette = page.getByRole("complementary", { name: "Steps to add" });
  const item = palette.getByRole("button", { name: new RegExp(`^${what}`) });
  await item.dragTo(page.locator(".cv"), { targetPosition: { x: 120, y: 260 } });
  await node(page, what).waitFor();
  await settings(page, what);
  await palette.getByRole("button", { name: "Approval", exact: true }).click();
  await node(page, "approval").waitFor();
  await page.getByRole("textbox", { name: "Question" }).fill("Shall it start?");
  await page.getByRole("button", { name: "Tidy" }).click();
  await draws(
    page,
    node(page, "approval").locator(".react-flow__handle.source.sq"),
    node(page, "web").locator(".react-flow__handle.target.sq"),
    page.locator('.react-flow__edge[data-id="order|approval||web"]'),
  );
  await saved(page);
  await picture(page, "engineer-pipeline");
}

/** What the service is given, where it listens, and when it is ready. */
export async function settings(page, what) {
  const beside = page.getByRole("complementary", { name: what });
  for (const [variable, value] of [
    ["API_URL", "http://127.0.0.1:9"],
    ["SHOP_PLACE", "${{ deployment.name }}"],
  ]) {
    await beside.getByLabel("Variable", { exact: true }).fill(variable);
    await beside.getByRole("button", { name: /^Add a variable/ }).click();
    await beside.getByRole("textbox", { name: variable }).fill(value);
  }
  await beside.getByRole("button", { name: "Add a port" }).click();
  await beside.getByLabel("Open to browsers").check();
  await beside.getByLabel("Ready when", { exact: true }).selectOption("http");
  await beside.getByLabel("Path", { exact: true }).first().fill("/healthz");
  await beside.getByLabel("Name", { exact: true }).fill("web");
  await page.keyboard.press("Enter");
  await node(page, "web").waitFor();
}

/** A team with a grant, and a person whom a link brings into it; they see the project, and no other. */
async function people(page, browser, { team, person, project: of }) {
  const sheet = await form(page, "/teams", /^New team/, "New team");
  await sheet.getByLabel("Name", { exact: true }).fill(team);
  await create(page, sheet, team);
  await page.goto("/teams/access");
  await page.getByRole("button", { name: `${team} on ${of}: nothing`, exact: true }).click();
  await page.getByRole("menuitemradio", { name: /^Full/ }).click();
  await toast(page, `${team}: access to ${of} is changed`);
  const invites = await form(page, "/users", /^Invite/, "Invite somebody");
  await invites.getByLabel("E-mail address").fill(`${person}@example.org`);
  await invites.getByLabel(team, { exact: true }).check();
  await invites.getByRole("button", { name: "Make the link" }).click();
  const link = new URL(await page.locator("[data-secret]").innerText());
  const theirs = await open(browser);
  try {
    await comesIn(theirs.page, `${link.pathname}${link.hash}`, person);
    const { items } = await api(theirs.page, "/projects");
    // promise: N-306
    same(
      items.map(({ name }) => name),
      [of],
      "the projects of who was invited",
    );
  } finally {
    await theirs.context.close();
  }
}

async function comesIn(page, link, name) {
  await page.goto(link);
  await page.getByLabel("The e-mail address you were invited with").fill(`${name}@example.org`);
  await page.getByLabel("User name").fill(name);
  await page.getByLabel("Choose a password").fill(WORD);
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByRole("heading", { name: "Deployments", level: 1 }).waitFor();
}

/** Who is told, and which pull requests become deployments; both secrets are shown this once. */
async function outside(page, { webhook, rule, project: of }) {
  const told = await form(page, "/webhooks", /^Add webhook/, "Add a webhook");
  await told.getByLabel("Name", { exact: true }).fill(webhook);
  await told.getByLabel("Address").fill("https://hooks.example.invalid/nullops");
  await told.getByLabel("Deployment failed").check();
  await told.getByLabel("Project").selectOption(of);
  await create(page, told, webhook);
  await once(page, webhook);
  const takes = await form(page, "/rules", /^Add rule/, "Add a rule");
  await takes.getByLabel("Name", { exact: true }).fill(rule);
  await takes.getByLabel("Source").selectOption("generic");
  await takes.getByLabel("Project").selectOption(of);
  await takes.getByLabel("Environment").selectOption("qa");
  await takes.getByText(/gives pr-7, in deployment/).waitFor();
  await create(page, takes, rule);
  await once(page, rule);
  same((await api(page, `/webhooks/${webhook}`)).events, ["deployment.failed"], "what it is told");
  same((await api(page, `/rules/${rule}`)).rule.project, of, "what the rule deploys");
}

async function once(page, name) {
  const shown = page.getByRole("dialog", { name });
  await shown.getByText(/ is shown only now/).waitFor();
  await shown.getByRole("button", { name: "Close", exact: true }).last().click();
  await shown.waitFor({ state: "detached" });
}

/** A deployment of what was just drawn: it asks, is answered, becomes ready, and shows its own name. */
async function deploys(page, context, { project: of, deployment: name, service: what }, tag) {
  await page.goto(`/deployments/new?project=${of}&env=qa`);
  const sheet = page.getByRole("dialog", { name: "New deployment" });
  await sheet.getByLabel("Name").fill(name);
  await sheet.getByRole("button", { name: `Version of web: ${tag}` }).waitFor();
  await sheet.getByText(/ checks? passed/).waitFor({ timeout: 60_000 });
  await sheet.getByRole("button", { name: /^Create deployment/ }).click();
  await page.waitForURL(new RegExp(`/deployments/qa/${name}/run`));
  await page.getByText("Shall it start?").first().waitFor({ timeout: RUN });
  await page.getByRole("button", { name: /^Yes, go on/ }).click();
  await until("ready", async () => (await pill(page).innerText()) === "Ready", RUN);
  const [made] = (await api(page, `/deployments?name=${name}&limit=1`)).items;
  same(made.versions.map((one) => one.service ?? one.step).length, 1, "what runs");
  await page.goto(`/d/${made.id}/services`);
  const url = page.locator('.sr .u a[href*="//web."]');
  const [tab] = await Promise.all([context.waitForEvent("page"), url.click()]);
  const says = () => tab.locator("body").innerText();
  // promise: N-306
  await until(`${what} says where it runs`, async () =>
    (await says().catch(() => "")).includes(name),
  );
  await tab.close();
  return made;
}

async function removes(page, { id, name }) {
  await page.goto(`/d/${id}/run`);
  await page.getByRole("button", { name: "Delete" }).click();
  const asks = page.getByRole("dialog", { name: `Delete ${name}?` });
  await asks.getByRole("button", { name: "Delete" }).click();
  await until("removed", async () => (await pill(page).innerText()) === "Removed", RUN);
}

/** Deleted on its page; what uses another thing goes before it. */
async function deletes(page, path, name) {
  await page.goto(`${path}?open=${name}`);
  await page.getByRole("dialog", { name }).getByRole("button", { name: "Delete" }).click();
  const asks = page.getByRole("dialog", { name: `Delete ${name}?` });
  await asks.getByRole("button", { name: "Delete" }).click();
  await toast(page, `${name} is deleted`);
}

const parts = (of) => [
  ["/rules", of.rule],
  ["/webhooks", of.webhook],
  ["/users", of.person],
  ["/teams", of.team],
  ["/projects", of.project],
  ["/services", of.service],
  ["/environments", of.environment],
  ["/registries", of.registry],
];

/** Whatever of it is still there after a story that failed. */
async function forget(page, of) {
  await send(page, "DELETE", `/nodes/${of.machine}`).catch(() => undefined);
  for (const [path, name] of parts(of))
    await send(page, "DELETE", `${path}/${name}`).catch(() => undefined);
}

const names = async (page) => ({
  registry: freshName("reg"),
  environment: freshName("lab"),
  machine: freshName("box"),
  service: freshName("front"),
  project: freshName("made"),
  team: freshName("crew"),
  person: freshName("ida"),
  webhook: freshName("hook"),
  rule: freshName("pr"),
  deployment: freshName("first"),
  like: await api(page, "/services/shop-web"),
  there: await agent(),
});

export const stories = [
  [
    "an engineer defines everything through the pages, from registry to rule, deploys it, opens it and removes it",
    async ({ page, context, browser }) => {
      await signIn(page, "/start");
      await page.getByRole("heading", { name: "Your first deployment", level: 1 }).waitFor();
      const of = await names(page);
      let made;
      try {
        await registry(page, of);
        await environment(page, of);
        const tag = await service(page, of);
        await project(page, of);
        await people(page, browser, of);
        await outside(page, of);
        made = await deploys(page, context, of, tag);
        await removes(page, made);
        made = undefined;
        await of.there.leave();
        await send(page, "DELETE", `/nodes/${of.machine}`);
        for (const [path, name] of parts(of)) await deletes(page, path, name);
      } finally {
        if (made) await cleanUp(page, made.id);
        await of.there.leave();
        await forget(page, of);
      }
    },
  ],
];
