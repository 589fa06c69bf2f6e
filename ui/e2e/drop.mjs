// A link that is down for a minute in the middle of a run, and a run read after its deployment is gone.
import { api, check, freshName, loseLink, picture, RUN, send, signIn, until } from "./browser.mjs";
import { cleanUp, compareLogs, create, pill } from "./main.mjs";
import { serve } from "./registry.mjs";

/** As long as a link has to be down, in ms. The other stories are told meanwhile. */
const DOWN = 60_000;

const nodes = (page) => page.locator(".gp [data-step]");

/** What the graph shows of each step. */
async function shown(page) {
  return nodes(page).evaluateAll((all) =>
    all.map((one) => `${one.dataset.step} ${one.dataset.st}`).sort(),
  );
}

async function asTheApiHasThem(page, id) {
  const { steps } = await api(page, `/deployments/${id}/runs/1`);
  const wanted = steps.map((step) => `${step.key} ${step.status}`).sort();
  await until(
    "steps as the API has them",
    async () => JSON.stringify(await shown(page)) === JSON.stringify(wanted),
  );
  return steps;
}

/** Writes down each state that a node of the graph is seen in, and how many MB the page's build has. */
async function witness(page) {
  await page.evaluate(() => {
    window.lit = {};
    window.pulled = 0;
    setInterval(() => {
      for (const one of document.querySelectorAll(".gp [data-step]")) {
        const { step, st } = one.dataset;
        window.lit[step] = { ...window.lit[step], [st]: true };
        const said = /^(\d[\d.]*) MBof \d/.exec(one.querySelector(".du")?.textContent ?? "");
        if (said && step === "web") window.pulled = Number(said[1]);
      }
    }, 50);
  });
}

/** The shop once more, with its page from a registry that can be held up; it goes with the story. */
async function shop(page) {
  const [name, own] = [freshName("minutes"), await serve("shop/web", "v1.1.0")];
  const { pipeline } = await api(page, "/projects/shop/pipeline");
  const plain = ({ service, plugin, ...step }) => {
    if (plugin) return { ...step, plugin: without(plugin) };
    const used = step.key === "web" ? name : service.name;
    return { ...step, service: { ...without(service), name: used } };
  };
  await send(page, "PUT", `/registries/${name}`, { host: own.host, insecure: true });
  const of = { registry: name, image: "shop/web", tag_mode: "selectable", tag: "small" };
  await send(page, "PUT", `/services/${name}`, of);
  await send(page, "PUT", `/projects/${name}`, { resources: { cpu: 2, memory_mib: 1024 } });
  for (const secret of ["DB_ADMIN_PASSWORD", "API_TOKEN"])
    await send(page, "PUT", `/projects/${name}/secrets/${secret}`, { generate: { length: 32 } });
  const steps = pipeline.steps.map(plain);
  await send(page, "PUT", `/projects/${name}/pipeline`, { pipeline: { steps } });
  const leave = async () => {
    own.close();
    for (const kind of ["projects", "services", "registries"])
      await send(page, "DELETE", `/${kind}/${name}`).catch(() => undefined);
  };
  return { name, release: own.release, leave };
}

/** As it was drawn: what a saved pipeline knows of its parts is looked up anew. */
function without({ image, component, ...drawn }) {
  return drawn;
}

/** A run before, so that each step has a usual time. */
async function before(page, project) {
  const made = await create(page, freshName("usual"), project);
  const read = () => api(page, `/deployments/${made.id}`);
  await until("a run before", async () => (await read()).status === "ready", RUN);
  await cleanUp(page, made.id);
}

/** Created with a build that the node has yet to pull. */
async function begun(page, project) {
  const name = freshName("minute");
  await page.goto(`/deployments/new?project=${project}`);
  const sheet = page.getByRole("dialog", { name: "New deployment" });
  await sheet.getByLabel("Name").fill(name);
  await sheet.locator('button.in[data-step="web"]').click();
  const picker = page.getByRole("dialog", { name: "Version of web" });
  await picker.getByTitle("large", { exact: true }).click();
  await picker.waitFor({ state: "detached" });
  await witness(page);
  await sheet.getByRole("button", { name: /^Create deployment/ }).click();
  await page.waitForURL(new RegExp(`/${name}/run`));
  const { items } = await api(page, `/deployments?environment=qa&name=${name}&limit=1`);
  return items[0];
}

/** Before the link goes: nodes light up as they work, and the pull tells its bytes. */
async function lights(page, release) {
  await until(
    "the first step done",
    async () => (await page.locator('.gp [data-st="done"]').count()) > 0,
    RUN,
  );
  const pulled = () => page.evaluate(() => window.pulled);
  // promise: I-02
  await until("bytes of the pull", async () => (await pulled()) > 0, RUN);
  const first = await until("a third", async () => (await pulled()) >= 7 && pulled(), RUN);
  release();
  // promise: N-099
  await until(`more than ${first} MB`, async () => (await pulled()) > first + 6, RUN);
  release();
  const lit = Object.entries(await page.evaluate(() => window.lit));
  const done = lit.filter(([, states]) => states.done);
  // promise: I-02
  for (const [step, states] of done)
    check(states.running || states.pulling, `${step} was never seen at work`);
  return done.length;
}

/** Brought back after a minute: nothing is missing and nothing is there twice. */
async function returns(page, context, made, lostAt) {
  await context.setOffline(false);
  await until("live again", async () => (await page.locator(".live").innerText()) === "Live");
  await until("ready", async () => (await pill(page).innerText()) === "Ready", RUN);
  const steps = await asTheApiHasThem(page, made.id);
  const plugins = steps.filter((step) => step.kind === "plugin");
  const missed = plugins.filter((step) => Date.parse(step.started_at) > lostAt && step.lines > 0);
  check(missed.length > 0, "no step wrote while the link was down");
  const compared = await compareLogs(page, made.id, 1);
  // promise: I-02
  for (const { key } of missed)
    check(compared.includes(key), `what ${key} wrote meanwhile was not compared`);
  return steps;
}

export const stories = [
  [
    "a link down for a minute in a live run loses no line; the run stays readable when all is gone",
    async ({ page, context, browser }) => {
      await signIn(page);
      // A second link that stays up: what really happens is asked there.
      const other = await browser.newContext({ storageState: await context.storageState() });
      const peer = await other.newPage();
      await peer.goto(new URL("/deployments", page.url()).href);
      const project = await shop(peer);
      let made;
      const leave = async () => {
        await context.setOffline(false);
        if (made) await cleanUp(peer, made.id);
        await project.leave();
        await other.close();
      };
      const live = page.locator(".live");
      let lostAt;
      try {
        await before(page, project.name);
        made = await begun(page, project.name);
        const done = await lights(page, project.release);
        check(done < made.steps_total, "the run was over before the link could break");
        await loseLink(page);
        lostAt = Date.now();
      } catch (error) {
        await leave();
        throw error;
      }
      return async () => {
        try {
          await peer.waitForTimeout(Math.max(0, lostAt + DOWN - Date.now()));
          const status = async () => (await api(peer, `/deployments/${made.id}`)).status;
          await until(
            "it went on without this page",
            async () => (await status()) === "ready",
            RUN,
          );
          const told = await live.innerText();
          check(/Reconnecting, \d+ (s|min).* behind/.test(told), `not told to be behind: ${told}`);
          check(
            (await shown(page)).filter((step) => step.endsWith(" done")).length < made.steps_total,
            "what happened meanwhile is known without a link",
          );
          const steps = await returns(page, context, made, lostAt);
          await page.goto(`/d/${made.id}/run`);
          await eachNode(page, steps);
          await picture(page, "run-after-a-minute");
          await cleanUp(page, made.id);
          await readable(page, made.id, steps);
        } finally {
          await leave();
        }
      };
    },
  ],
];

/** Each node says its time against the usual one; what a plugin gave back and wrote is there. */
async function eachNode(page, steps) {
  for (const step of steps) {
    const text = await page.locator(`.gp [data-step="${step.key}"]`).innerText();
    check(/\d( s| min| ms)/.test(text), `no time on ${step.key}: ${text}`);
    // promise: I-02
    check(step.usual_seconds && /usual \d/.test(text), `no usual time on ${step.key}: ${text}`);
  }
  await outputs(page, steps);
}

async function outputs(page, steps) {
  const gave = steps.find((step) => Object.keys(step.outputs ?? {}).length > 0);
  // promise: I-02
  check(gave, "no step put anything out");
  await page.locator(`.gp [data-step="${gave.key}"]`).click();
  await page.getByRole("link", { name: "Output", exact: true }).click();
  for (const name of Object.keys(gave.outputs))
    await page.locator(".kv dt").getByText(name, { exact: true }).waitFor();
  await page.getByRole("link", { name: "Log", exact: true }).click();
}

/** The deployment is gone, its containers too: the record is read by its permalink. */
async function readable(page, id, steps) {
  await page.goto(`/d/${id}/run`);
  await page.getByText("This deployment was removed").waitFor();
  await until("the graph", async () => (await nodes(page).count()) === steps.length);
  // A plugin writes to its standard error; its standard output is its answer.
  await compareLogs(page, id, 1);
  // promise: I-02
  check((await page.locator(".log .ln").count()) > 0, "no log line is readable after the removal");
  await outputs(page, steps);
  await picture(page, "run-removed");
}
