// From sign-in to done without a mouse, as two of the people do it: an engineer, and a DevOps engineer.
// The tester's path is in qa.mjs, an admin's parts of it in keyboard.mjs.
import {
  api,
  check,
  freshName,
  open,
  password,
  same,
  send,
  signIn,
  until,
  user,
} from "./browser.mjs";
import { press, tabTo, toast, write } from "./keyboard.mjs";
import { cleanUp, pill } from "./main.mjs";
import { invite } from "./people.mjs";

/** The first field has the focus when the page is there; no key leads there but those of a person. */
export async function signsIn(page, who) {
  await page.goto("/sign-in");
  await until("the user name has the focus", () =>
    page.evaluate(() => document.activeElement?.getAttribute("name") === "user"),
  );
  await page.keyboard.type(who.name);
  await page.keyboard.press("Tab");
  await page.keyboard.type(who.password);
  await page.keyboard.press("Enter");
  await heading(page, "Deployments");
}

const heading = (page, name) => page.getByRole("heading", { name, level: 1 }).waitFor();
const found = async (page, name) => (await api(page, `/deployments?name=${name}&limit=1`)).items[0];

/** A service behind a question: its deployments stay under way, and pull nothing. */
async function waits(page, name) {
  await send(page, "PUT", `/projects/${name}`, { resources: { memory_mib: 128 } });
  const steps = [
    { key: "go", needs: [], approval: { prompt: "Shall it go on?" } },
    { key: "web", needs: ["go"], service: { name: "shop-web", resources: { memory_mib: 64 } } },
  ];
  await send(page, "PUT", `/projects/${name}/pipeline`, { pipeline: { steps } });
}

/** The second of the versions that the list of a service has. */
async function picks(page, sheet) {
  const trigger = sheet.locator("button.in[data-step]").first();
  await tabTo(page, "button", "its version", trigger);
  const step = await trigger.getAttribute("data-step");
  await page.keyboard.press("ArrowDown");
  const picker = page.getByRole("dialog", { name: `Version of ${step}` });
  await picker.getByRole("option").first().waitFor();
  await page.keyboard.press("ArrowDown");
  const tag = await picker.locator("[role=option][data-active]").getAttribute("title");
  await page.keyboard.press("Enter");
  await picker.waitFor({ state: "detached" });
  return { step, tag };
}

async function creates(page, name) {
  await page.keyboard.press("n");
  const sheet = page.getByRole("dialog", { name: "New deployment" });
  await sheet.waitFor();
  await write(page, "Name", name);
  const chosen = await picks(page, sheet);
  await page.keyboard.press("Control+Enter");
  await page.waitForURL(new RegExp(`/${name}/run`));
  const made = await found(page, name);
  const taken = made.versions.find(({ step }) => step === chosen.step)?.tag;
  same(taken, chosen.tag, "the version that was chosen");
  return made;
}

/** From the page of the source; the clone has the versions of it, under a name of its own. */
async function clones(page, source, name) {
  await press(page, "link", "Clone", page.locator(".acts").getByRole("link", { name: "Clone" }));
  const sheet = page.getByRole("dialog", { name: `Clone ${source.name}` });
  await sheet.getByText(/^Pipeline unchanged, v/).waitFor();
  await write(page, "Name", name);
  await page.keyboard.press("Control+Enter");
  await page.waitForURL(new RegExp(`/${name}/run`));
  const made = await found(page, name);
  const versions = ({ versions: all }) => all.map(({ step, tag }) => `${step} ${tag}`).sort();
  same(versions(made), versions(source), "the versions of the clone");
  return made;
}

/** To the act that ends it, which is another one as soon as the run is over. */
async function ends(page) {
  await until("the question", async () => {
    const act = page.locator(".acts .danger");
    await press(page, "button", "that ends it", act);
    const asks = page.getByRole("dialog").waitFor({ timeout: 2_000 });
    return asks.then(
      () => true,
      () => false,
    );
  });
  const act = page.getByRole("dialog").locator(".btn.danger, .btn.ink").last();
  await press(page, "button", "that answers", act);
  await until("it goes", async () =>
    /Cancel|Remov|Undo|Deleting/.test(await pill(page).innerText()),
  );
}

/** Opens the form of a page of definitions, gone to by its two keys. */
async function adds(page, [key, where, title]) {
  await page.keyboard.press("g");
  await page.keyboard.press(key);
  await heading(page, where);
  await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
  await page.keyboard.press("n");
  const sheet = page.getByRole("dialog", { name: title });
  await sheet.waitFor();
  return sheet;
}

async function defines(page, where, fields) {
  const sheet = await adds(page, where);
  for (const [label, text] of Object.entries(fields)) await write(page, label, text);
  await page.keyboard.press("Control+Enter");
  await toast(page, `${fields.Name} is created`);
  await sheet.waitFor({ state: "detached" });
}

/** A machine is named, put into the environment, and its line copied. */
async function machine(page, { machine: name, environment }) {
  await page.keyboard.press("g");
  await page.keyboard.press("n");
  await heading(page, "Nodes");
  await press(page, "button", "Add node", page.getByRole("button", { name: /^Add node/ }).first());
  const sheet = page.getByRole("dialog", { name: "Add a node" });
  await sheet.waitFor();
  await write(page, "Name", name);
  const place = sheet.getByRole("combobox", { name: /^Environment/ });
  await tabTo(page, "combobox", "Environment", place);
  await page.keyboard.press("Enter");
  await page.getByRole("option", { name: environment, exact: true }).waitFor();
  await page.keyboard.type(environment);
  await page.keyboard.press("Enter");
  await until("the environment", async () => (await place.innerText()).includes(environment));
  await write(page, "Address", "127.0.0.1:9");
  await page.keyboard.press("Enter");
  const line = page.getByRole("dialog", { name: `Run this on ${name}` });
  await line.waitFor();
  await press(page, "button", "to copy", line.getByRole("button", { name: /^Copy/ }).first());
  const copied = await until("a copied line", () =>
    page.evaluate(() => navigator.clipboard.readText()),
  );
  check(/nopa1_[\w-]+/.test(copied), "the line in the clipboard holds no token");
  await press(page, "button", "Done", line.getByRole("button", { name: "Done" }));
  await line.waitFor({ state: "detached" });
  same((await api(page, `/nodes/${name}`)).environment, environment, "where the node is");
}

async function invites(page, { team, person }) {
  const sheet = await adds(page, ["w", "Users", "Invite somebody"]);
  await write(page, "E-mail address", `${person}@example.org`);
  await tabTo(page, "checkbox", team);
  await page.keyboard.press("Space");
  await page.keyboard.press("Control+Enter");
  const link = sheet.locator("[data-secret]");
  await link.waitFor();
  check(/\/invitation#/.test(await link.innerText()), "no link is shown");
  await press(page, "button", "Close", sheet.getByRole("button", { name: "Close" }).last());
  await sheet.waitFor({ state: "detached" });
}

/** What a DevOps engineer sets up before anybody can deploy, each on its own page. */
async function setsUp(page, of) {
  const host = `${of.registry}.invalid`;
  await defines(page, ["r", "Registries", "Add a registry"], { Name: of.registry, Host: host });
  // It opens by itself, and is asked whether it answers.
  await page.getByRole("dialog", { name: of.registry }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog", { name: of.registry }).waitFor({ state: "detached" });
  await defines(page, ["e", "Environments", "New environment"], {
    Name: of.environment,
    Domain: "lab.example.com",
  });
  await machine(page, of);
  await defines(page, ["p", "Projects", "New project"], { Name: of.project });
  await defines(page, ["t", "Teams", "New team"], { Name: of.team });
  await invites(page, of);
  same((await api(page, `/registries/${of.registry}`)).host, host, "the host that was typed");
}

async function forget(page, of) {
  const { items } = await api(page, "/invitations").catch(() => ({ items: [] }));
  for (const one of items.filter(({ address }) => address.startsWith(`${of.person}@`)))
    await send(page, "DELETE", `/invitations/${one.id}`).catch(() => undefined);
  for (const path of [
    `/nodes/${of.machine}`,
    `/projects/${of.project}`,
    `/teams/${of.team}`,
    `/environments/${of.environment}`,
    `/registries/${of.registry}`,
  ])
    await send(page, "DELETE", path).catch(() => undefined);
}

export const stories = [
  [
    "only with the keyboard, an engineer: sign in, create with a version, clone it, end both",
    async ({ page, browser }) => {
      const admin = await open(browser);
      await signIn(admin.page);
      const project = freshName("typed");
      await waits(admin.page, project);
      const { engineer, leave } = await invite(admin.page, [project]);
      const made = [];
      try {
        await signsIn(page, engineer);
        made.push(await creates(page, freshName("keys")));
        made.push(await clones(page, made[0], freshName("keyed")));
        await ends(page);
        await page.goto(`/d/${made[0].id}/run`);
        await ends(page);
      } finally {
        for (const { id } of made) await cleanUp(admin.page, id);
        await leave();
        await send(admin.page, "DELETE", `/projects/${project}`);
        await admin.context.close();
      }
    },
  ],
  [
    "only with the keyboard, a DevOps engineer: sign in, registry, environment, node, project, team, invitation",
    async ({ page, context }) => {
      const words = ["registry", "environment", "machine", "project", "team", "person"];
      const of = Object.fromEntries(words.map((word) => [word, freshName(word)]));
      await context.grantPermissions(["clipboard-read", "clipboard-write"]);
      try {
        await signsIn(page, { name: user, password });
        await setsUp(page, of);
      } finally {
        await forget(page, of);
      }
    },
  ],
];
