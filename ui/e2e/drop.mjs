// A link that is down for a minute in the middle of a run, and a run read after its deployment is gone.
import { api, check, freshName, picture, RUN, same, signIn, until } from "./browser.mjs";
import { cleanUp, compareLogs, create, pill } from "./main.mjs";

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

export const stories = [
  [
    "a link down for a minute in a live run loses no line; the run stays readable when all is gone",
    async ({ page, context, browser }) => {
      await signIn(page);
      // A second link that stays up: what really happens is asked there.
      const other = await browser.newContext({ storageState: await context.storageState() });
      const witness = await other.newPage();
      await witness.goto(new URL("/deployments", page.url()).href);
      const made = await create(page, freshName("minute"));
      const live = page.locator(".live");
      await until("live", async () => (await live.innerText()) === "Live");
      await until(
        "the first step done",
        async () => (await page.locator('.gp [data-st="done"]').count()) > 0,
        RUN,
      );
      const before = (await shown(page)).filter((step) => step.endsWith(" done")).length;
      check(before < made.steps_total, "the run was over before the link could break");
      await context.setOffline(true);
      const down = Date.now();
      return async () => {
        await other.pages()[0].waitForTimeout(Math.max(0, down + DOWN - Date.now()));
        await until(
          "the run went on without this page",
          async () => (await api(witness, `/deployments/${made.id}`)).status === "ready",
          RUN,
        );
        await other.close();
        const told = await live.innerText();
        check(/Reconnecting, \d+ (s|min).* behind/.test(told), `not told to be behind: ${told}`);
        same(
          (await shown(page)).filter((step) => step.endsWith(" done")).length < made.steps_total,
          true,
          "what happened meanwhile is not known yet",
        );
        await context.setOffline(false);
        await until("live again", async () => (await live.innerText()) === "Live", 60_000);
        await until("ready", async () => (await pill(page).innerText()) === "Ready", RUN);
        const steps = await asTheApiHasThem(page, made.id);
        await compareLogs(page, made.id, 1);
        await page.goto(`/d/${made.id}/run`);
        await eachNode(page, (await api(page, `/deployments/${made.id}/runs/1`)).steps);
        await picture(page, "run-after-a-minute");
        await cleanUp(page, made.id);
        await readable(page, made.id, steps);
      };
    },
  ],
];

/** Each node says its time, against the usual one where there is one; a plugin's outputs are there. */
async function eachNode(page, steps) {
  for (const step of steps) {
    const text = await page.locator(`.gp [data-step="${step.key}"]`).innerText();
    check(/\d( s| min)/.test(text), `no time on ${step.key}: ${text}`);
    if (step.usual_seconds) check(/usual \d/.test(text), `no usual time on ${step.key}: ${text}`);
  }
  const gave = steps.find((step) => Object.keys(step.outputs ?? {}).length > 0);
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
  await compareLogs(page, id, 1);
  check((await page.locator(".log .ln").count()) > 0, "no log line is readable after the removal");
  await picture(page, "run-removed");
}
