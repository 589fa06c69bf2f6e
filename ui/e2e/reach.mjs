// Seeing and getting into a deployment: all logs in one view, metrics, a terminal.
import { api, check, freshName, picture, RUN, same, send, signIn, until } from "./browser.mjs";
import { written } from "./engine.mjs";
import { cleanUp, create } from "./main.mjs";
import { added, agent } from "./nodes.mjs";

export const stories = [
  [
    "read all logs in one view, see metrics, and work in a terminal",
    async ({ page }) => {
      await signIn(page);
      const made = await create(page, freshName("reach"));
      const read = () => api(page, `/deployments/${made.id}`);
      await until("ready", async () => (await read()).status === "ready", RUN);
      const { services } = await read();
      await page.goto(`/d/${made.id}/logs`);
      await logs(page, services);
      await grows(page, made.id, services);
      await metrics(page, made.id, services);
      await page.goto(`/d/${made.id}/terminal`);
      await terminal(page, services);
      await cleanUp(page, made.id);
    },
  ],
  [
    "a log comes through its node's agent and no other way",
    async ({ page }) => {
      await signIn(page);
      const name = freshName("asked");
      const there = await agent();
      let made;
      try {
        await send(page, "PUT", `/environments/${name}`, { domain: "localhost" });
        await added(page, name, name, there);
        await alone(page, name);
        made = await createOn(page, name);
        await page.goto(`/d/${made.id}/logs?log=db`);
        await page.getByRole("log").locator(".ln").first().waitFor({ timeout: RUN });
        await there.stop();
        await unheard(page, made.id);
        there.start();
        await cleanUp(page, made.id);
      } finally {
        await there.leave();
        for (const kind of ["projects", "nodes", "environments"])
          await send(page, "DELETE", `/${kind}/${name}`).catch(() => undefined);
      }
    },
  ],
];

/** A project of a database, which writes much as it starts and depends on nothing. */
async function alone(page, name) {
  await send(page, "PUT", `/projects/${name}`, { resources: { memory_mib: 512 } });
  await send(page, "PUT", `/projects/${name}/secrets/WORD`, { generate: { length: 32 } });
  const service = {
    name: "postgres",
    env: { POSTGRES_PASSWORD: "${{ secrets.WORD }}" },
    resources: { memory_mib: 256 },
  };
  const steps = [{ key: "db", needs: [], service }];
  await send(page, "PUT", `/projects/${name}/pipeline`, { pipeline: { steps } });
}

/** On the environment of that name; ready when this is over. */
async function createOn(page, name) {
  const wanted = { name, project: name, environment: name };
  const made = await send(page, "POST", "/deployments", wanted);
  const status = async () => (await api(page, `/deployments/${made.id}`)).status;
  await until("ready", async () => (await status()) === "ready", RUN);
  return made;
}

/** The service runs and the engine has its log; without the agent the page has not a line of it. */
async function unheard(page, id) {
  check((await written(id, "db")).length > 0, "the engine has no log of the service");
  await page.reload();
  // promise: N-282
  await page.locator("p[role=status]").getByText(/^db: /).waitFor();
  // promise: N-282
  same(await page.getByRole("log").locator(".ln").count(), 0, "lines without the agent");
  await picture(page, "logs-without-agent");
}

/** What a visit makes a service write appears in its log by itself. */
async function grows(page, id, services) {
  const { step, url } = services.find((one) => one.step === "api");
  await page.goto(`/d/${id}/services?log=${step}`);
  const log = page.getByRole("log", { name: `Log of ${step}`, exact: true });
  await log.locator(".ln").first().waitFor({ timeout: RUN });
  const path = `/no-such-page-${Date.now()}`;
  same(await log.getByText(path).count(), 0, "lines of a visit to come");
  const visitor = await page.context().newPage();
  await visitor.goto(`${url}${path}`);
  await visitor.close();
  // promise: N-281
  await log.getByText(path).first().waitFor();
}

/** Lines of a service and of a step are there; one source can be picked, and a line linked to. */
async function logs(page, services) {
  const log = page.getByRole("log");
  await log.locator(".ln").first().waitFor({ timeout: RUN });
  const all = page.getByRole("group", { name: "Services and steps" });
  await all.getByRole("button", { name: services[0].step, exact: true }).click();
  await page.waitForURL(/log=/);
  await log.locator(".ln a.k").first().waitFor({ timeout: RUN });
  await picture(page, "logs");
  await searches(page, log);
  await all.getByRole("button", { name: services[0].step, exact: true }).click();
  await log.locator(".ln a.k").first().waitFor({ timeout: RUN });
  const link = await log.locator(".ln a.k").first().getAttribute("href");
  await page.goto(link);
  await log.locator(".ln.hit").first().waitFor({ timeout: RUN });
}

/** One box finds and hides; a line that was found leads to those around it. */
async function searches(page, log) {
  await page.goto(`${new URL(page.url()).pathname}`);
  await log.locator(".ln .src[data-tone]").first().waitFor({ timeout: RUN });
  const text = (await log.locator(".ln .tx").last().innerText()).slice(0, 12).trim();
  await page.getByLabel("Find in log").fill(text);
  await page.getByRole("button", { name: "Show only lines with it" }).click();
  await page.waitForURL((url) => url.searchParams.get("find") === text);
  await until("only lines with it", async () => {
    const shown = await log.locator(".ln .tx").allInnerTexts();
    return shown.length > 0 && shown.every((line) => line.includes(text));
  });
  await picture(page, "logs-filtered");
  await log.locator(".ln a.k").first().click();
  await page.waitForURL((url) => url.searchParams.has("at") && !url.searchParams.has("find"));
  await log.locator(".ln.hit").first().waitFor({ timeout: RUN });
  await page.goto(`${new URL(page.url()).pathname}`);
  await log.locator(".ln").first().waitFor({ timeout: RUN });
  await page.getByRole("button", { name: "Put the lines of each step together" }).click();
  await log.locator(".lg").first().waitFor();
  await picture(page, "logs-by-step");
  await page.locator(".log").focus();
  await page.keyboard.press("z");
  await until("the heads alone", async () => (await log.locator(".ln:not(.lg)").count()) === 0);
}

const UNITS = { B: 1, kB: 1e3, MB: 1e6, GB: 1e9 };

/** A caption's number says a measured one, rounded as it is for people. */
function says(caption, measured) {
  const [, number, unit = "B"] = /([\d.]+)(?: (B|kB|MB|GB))?$/.exec(caption) ?? [];
  const shown = Number(number) * UNITS[unit];
  return Math.abs(shown - measured) <= Math.max(measured * 0.06, 1e-4);
}

/** Each service has its curves, and they say of its last point what the API has measured. */
async function metrics(page, id, services) {
  let told = [];
  page.on("response", async (one) => {
    if (one.ok() && one.url().includes(`/${id}/metrics?`)) told = (await one.json()).series;
  });
  await page.goto(`/d/${id}/metrics`);
  for (const { step } of services) {
    const part = page.getByRole("region", { name: step, exact: true });
    const curves = part.locator(".chart canvas");
    await until(`the curves of ${step}`, async () => (await curves.count()) === 4, RUN);
    const last = () => told.find((one) => one.step === step)?.points.at(-1);
    const of = (what) => part.locator("figcaption").filter({ hasText: what }).innerText();
    // promise: N-285
    await until(`the CPU of ${step}`, async () => says(await of("CPU, cores"), last()?.cpu));
    // promise: N-285
    await until(`the memory of ${step}`, async () => says(await of("Memory"), last()?.memory));
  }
  await crosshair(page);
  await picture(page, "metrics");
}

/** One crosshair through all charts, by pointer and by arrow keys; limits and what happened are named. */
async function crosshair(page) {
  const charts = page.locator(".chart");
  const past = /\d:\d\d.* · \S/;
  const then = async () => {
    const said = await page.locator("figcaption").allInnerTexts();
    return said.filter((text) => past.test(text)).length;
  };
  const all = await charts.count();
  same(await then(), 0, "charts that say what was");
  await charts.first().locator(".u-over").hover();
  await until("each chart says what was at the pointer", async () => (await then()) === all);
  await page.mouse.move(0, 0);
  await until("each chart says what is now", async () => (await then()) === 0);
  await charts.nth(1).focus();
  await page.keyboard.press("ArrowLeft");
  await until("each chart says what was a point before", async () => (await then()) === all);
  await page.keyboard.press("Escape");
  await until("the crosshair is gone", async () => (await then()) === 0);
  const label = await charts.nth(1).getAttribute("aria-label");
  check(/limit \d+ MB/.test(label), `no limit of memory: ${label}`);
  check(/run 1 /.test(label), `no mark of the run: ${label}`);
}

/** The shell has every key, Ctrl K too; one leads out, and Tab once the command has ended. */
async function leaves(page, service) {
  const inside = () => page.evaluate(() => document.activeElement?.className ?? "");
  for (const key of ["Tab", "Control+k"]) {
    await page.keyboard.press(key);
    check((await inside()).includes("xterm"), `${key} left the terminal`);
  }
  same(await page.getByRole("dialog").count(), 0, "palettes over the terminal");
  await page.keyboard.press("Control+Shift+x");
  same(await page.evaluate(() => document.activeElement?.getAttribute("aria-label")), "Service");
  await page.locator(`[data-terminal="${service}"] .xterm-helper-textarea`).focus();
  await page.keyboard.press("Control+c");
  await page.keyboard.type("exit\n");
  await page.getByText(/The command ended/).waitFor();
  await page.keyboard.press("Tab");
  check(!(await inside()).includes("xterm"), "Tab stays in a terminal that has ended");
}

/** Types into a service that has a shell, and sees what it answers. */
async function terminal(page, services) {
  const names = services.map((service) => service.step);
  const db = names.find((name) => /db|postgres|data/.test(name)) ?? names[0];
  await page.getByLabel("Service", { exact: true }).selectOption(db);
  await page.getByRole("button", { name: "Open terminal" }).click();
  const screen = page.locator(`[data-terminal="${db}"]`);
  await screen.locator(".xterm-helper-textarea").waitFor({ state: "attached" });
  await until("the prompt", async () => /[$#]/.test(await screen.innerText()), RUN);
  await page.keyboard.type("echo it-is-$((40+2))\n");
  await until("the answer", async () => (await screen.innerText()).includes("it-is-42"), RUN);
  await picture(page, "terminal");
  await leaves(page, db);
  check((await page.locator("style").count()) === 0, "the terminal made a style element");
}
