// From an installation with nothing in it to the first URL, by the steps of its guide alone.
import { spawn } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { api, check, open, picture, RUN, same, signIn, until } from "./browser.mjs";
import { publish } from "./editor.mjs";
import { settings } from "./engineer.mjs";
import { cleanUp } from "./main.mjs";
import { added, agent, freePort } from "./nodes.mjs";

const WORD = "correct-horse-battery-9";

/** A control plane of the story's own, on an empty database; nothing of it stays. */
async function installation() {
  const { NULLOPS_TEST_BINARY: binary } = process.env;
  check(binary, "NULLOPS_TEST_BINARY is set by `make test`");
  const data = await mkdtemp(join(tmpdir(), "nullops-first-"));
  // The database runs as another user and must get through here.
  await chmod(data, 0o755);
  const [ui, ingress] = [await freePort(), await freePort()];
  const url = `http://localhost:${ui}`;
  const set = {
    "dev.data": data,
    "http.listen": `127.0.0.1:${ui}`,
    "http.url": url,
    "ingress.listen": `127.0.0.1:${ingress}`,
    "ingress.url": `http://localhost:${ingress}`,
  };
  const flags = Object.entries(set).map(([name, value]) => `--${name}=${value}`);
  const child = spawn(binary, ["dev", ...flags], { stdio: ["ignore", "pipe", "ignore"] });
  let said = "";
  child.stdout.on("data", (text) => {
    said += text;
  });
  const ended = new Promise((done) => child.once("exit", done));
  const leave = async () => {
    child.kill("SIGTERM");
    await ended;
    await rm(data, { recursive: true, force: true });
  };
  const password = () => /user admin, password (\S+)/.exec(said)?.[1];
  return { url, password, leave };
}

/** The password that is said once, as soon as the page is there too. */
async function begun({ url, password }) {
  const answers = () =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok && password(),
      () => false,
    );
  return until("an installation that answers", answers, 120_000);
}

const step = (page, title) =>
  page
    .locator(".startstep")
    .filter({ has: page.getByRole("heading", { name: title, exact: true }) });

/** What the guide says of its steps: title and state. */
async function states(page) {
  const all = await page
    .locator(".startstep")
    .evaluateAll((steps) =>
      steps.map((one) => [
        one.querySelector("h2").textContent,
        one.querySelector("h2 + *").textContent.trim(),
      ]),
    );
  return Object.fromEntries(all);
}

/** The way on of a step, which has to be the next one. */
async function goes(page, title, way) {
  await page.goto("/start");
  await until(`${title} is next`, async () => (await states(page))[title] === "Next");
  const act = step(page, title).getByRole("link", { name: way, exact: true });
  await act.click();
  await page.waitForURL((url) => url.pathname !== "/start");
}

async function done(page, ...titles) {
  await page.goto("/start");
  for (const title of titles)
    await until(`${title} is done`, async () => (await states(page))[title] === "Done");
}

const toast = (page, text) => page.locator(".toast", { hasText: text }).waitFor();

/** A form that a step led to: each field by its label, then saved. */
async function fills(page, title, fields, more) {
  const sheet = page.getByRole("dialog", { name: title });
  await sheet.waitFor();
  for (const [label, text] of Object.entries(fields))
    await sheet.getByLabel(label, { exact: true }).first().fill(text);
  await more?.(sheet);
  await page.keyboard.press("Control+Enter");
  await toast(page, `${fields.Name} is created`);
}

/** Nothing is there: the first step is to choose a password, and the key stands. */
async function empty(page, first) {
  await signIn(page, "/start", { name: "admin", password: first });
  await page.getByRole("heading", { name: "Your first deployment", level: 1 }).waitFor();
  await step(page, "A registry").waitFor();
  const { "A master key": key, "A password of your own": password, ...way } = await states(page);
  same([key, password], ["Done", "To do"], "what comes before");
  same(way["A registry"], "Next", "where the way begins");
  const rest = Object.entries(way).filter(([title]) => title !== "A registry");
  for (const [title, state] of rest) same(state, "Later", title);
  await picture(page, "first-empty");
  await step(page, "A password of your own").getByRole("link", { name: "Change it" }).click();
  await page.getByLabel("Current password").fill(first);
  await page.getByLabel("New password", { exact: true }).fill(WORD);
  await page.getByLabel("New password again").fill(WORD);
  await page.getByRole("button", { name: "Change the password" }).click();
  await toast(page, "The password is changed");
  await done(page, "A password of your own");
}

async function registry(page) {
  const host = process.env.NULLOPS_TEST_REGISTRY;
  check(host, "NULLOPS_TEST_REGISTRY is set by `make test`");
  await goes(page, "A registry", "Add registry");
  await fills(page, "Add a registry", { Name: "local", Host: host }, (sheet) =>
    sheet.getByLabel("Plain HTTP").check(),
  );
  await done(page, "A registry");
}

/** Left here, and gone on with elsewhere: what exists says where, and nothing else was kept. */
async function resumed(page) {
  await signIn(page, "/start", { name: "admin", password: WORD });
  await step(page, "An environment").waitFor();
  const { "A registry": before, "An environment": next } = await states(page);
  same([before, next], ["Done", "Next"], "where it goes on in another browser");
  await goes(page, "An environment", "New environment");
  await fills(page, "New environment", { Name: "qa", Domain: "localhost" });
  await done(page, "An environment");
}

async function machine(page, there) {
  await goes(page, "A node", "Add node");
  await page.getByRole("dialog", { name: "Add a node" }).waitFor();
  await added(page, "box", "qa", there);
  await done(page, "A node");
}

async function defines(page) {
  await goes(page, "A service", "Add service");
  await fills(page, "Add a service", { Name: "front" }, async (sheet) => {
    await sheet.getByLabel("Registry").selectOption("local");
    await sheet.getByRole("textbox", { name: "Image" }).fill("shop/web");
    await sheet.getByLabel(/^Pattern of tags/).fill("v*");
    await sheet.getByText(/^\d+ of \d+ tags? match/).waitFor();
    const tag = await sheet.locator(".tags .mono").first().innerText();
    await sheet.getByLabel(/^Default tag/).fill(tag);
  });
  await done(page, "A service");
  await goes(page, "A project with a pipeline", "New project");
  await fills(page, "New project", { Name: "store" });
  await goes(page, "A project with a pipeline", "Draw its pipeline");
  await page.getByText("Drag a service here, or press A.").waitFor();
  const palette = page.getByRole("complementary", { name: "Steps to add" });
  await palette.getByRole("button", { name: /^front/ }).click();
  await settings(page, "front");
  await publish(page);
  await done(page, "A project with a pipeline");
}

/** The last steps: a deployment, watched from the guide until it is ready, and its URL opened there. */
async function opens(page, context) {
  await goes(page, "A deployment", "New deployment");
  const sheet = page.getByRole("dialog", { name: "New deployment" });
  await sheet.getByLabel("Name").fill("hello");
  await sheet.getByRole("button", { name: /^Create deployment/ }).click();
  await page.waitForURL(/\/deployments\/qa\/hello/);
  await page.goto("/start");
  await until("it is ready", async () => (await states(page))["A deployment"] === "Done", RUN);
  await page.getByText("Everything is set up.").waitFor();
  await picture(page, "first-done");
  const link = step(page, "Open it").getByRole("link", { name: "Open", exact: true });
  const [tab] = await Promise.all([context.waitForEvent("page"), link.click()]);
  const says = () => tab.locator("body").innerText();
  await until("its URL answers", async () => /hello/.test(await says().catch(() => "")), RUN);
  await tab.close();
  // What is counted is what is listed: each of the steps, the last one once it was really opened.
  await until(
    "all of it is counted as done",
    async () => {
      const all = Object.values(await states(page));
      const said = await page.getByText(/^\d+ of \d+ done/).innerText();
      return (
        all.every((state) => state === "Done") && said.startsWith(`${all.length} of ${all.length} `)
      );
    },
    RUN,
  );
}

/** What runs is taken down while there is still somebody to ask for that. */
async function clears(page) {
  if (!page) return;
  const { items } = await api(page, "/deployments").catch(() => ({ items: [] }));
  for (const { id } of items) await cleanUp(page, id);
}

export const stories = [
  [
    "from an empty installation to an opened URL by the guide alone, left and resumed elsewhere",
    async ({ browser }) => {
      const [fresh, there] = [await installation(), await agent()];
      const at = { baseURL: fresh.url };
      const windows = [];
      const another = async () => windows[windows.push(await open(browser, at)) - 1];
      try {
        const first = await begun(fresh);
        const { page: one } = await another();
        await empty(one, first);
        await registry(one);
        await windows[0].context.close();
        const { page, context } = await another();
        await resumed(page);
        await machine(page, there);
        await defines(page);
        await opens(page, context);
      } finally {
        await clears(windows.at(-1)?.page);
        for (const { context } of windows) await context.close();
        await there.leave();
        await fresh.leave();
      }
    },
  ],
];
