// What a deployment offers to those who see it: to an engineer, and to a viewer who may only look.
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
import { cleanUp, create, pill } from "./main.mjs";
import { invite } from "./people.mjs";

const GONE = ["removed", "canceled", "forgotten"];
const acts = (page) => page.locator(".acts");
const act = (page, name) => acts(page).getByRole("button", { name });
const toast = (page, text) => page.locator(".toast", { hasText: text }).waitFor();
const question = (page, title) => page.getByRole("dialog", { name: title });

/** A project whose runs wait for an answer: its deployments stay under way until somebody acts. */
export async function waiting(page) {
  const name = freshName("waits");
  await send(page, "PUT", `/projects/${name}`, { resources: { memory_mib: 64 } });
  const steps = [{ key: "go", needs: [], approval: { prompt: "Shall it go on?" } }];
  await send(page, "PUT", `/projects/${name}/pipeline`, { pipeline: { steps } });
  return name;
}

/** The environment's deployments have an end; gives back what takes the rule away again. */
async function ruled(page, environment) {
  const path = `/environments/${environment}`;
  const { domain, description, restricted, placement, capacity } = await api(page, path);
  const before = { domain, description, restricted, placement, capacity };
  await send(page, "PUT", path, { ...before, cleanup_after_hours: 48 });
  return () => send(page, "PUT", path, before);
}

/** Who may act has each control once, and none of them is refused. */
async function may(page, id) {
  await page.goto(`/d/${id}/run`);
  await pill(page).waitFor();
  for (const name of [/^Extend/, /^Hold/, /^Delete/]) {
    // promise: N-307
    same(await act(page, name).count(), 1, `buttons ${name}`);
    // promise: N-307
    same(await act(page, name).getAttribute("aria-disabled"), null, `${name} for an engineer`);
  }
  // promise: N-307
  same(await acts(page).getByRole("link", { name: "Clone", exact: true }).count(), 1, "Clone");
  await reads(page, id);
}

/** Status, health, logs and metrics: each has its place, for everybody who sees the deployment. */
async function reads(page, id) {
  const tabs = page.getByRole("navigation", { name: "Deployment", exact: true });
  // promise: N-307
  for (const name of ["Run", "Services", "Logs", "Metrics"])
    same(await tabs.getByRole("link", { name: new RegExp(`^${name}`) }).count(), 1, name);
  // promise: N-307
  same(await pill(page).innerText(), "Ready", "the status");
  await tabs.getByRole("link", { name: /^Services/ }).click();
  const { services } = await api(page, `/deployments/${id}`);
  // promise: N-307
  await until(
    "the health of each service",
    async () =>
      (await page.locator(".sr").getByText("Healthy", { exact: true }).count()) === services.length,
  );
  await tabs.getByRole("link", { name: /^Logs/ }).click();
  // promise: N-307
  await page.getByRole("log").locator(".ln").first().waitFor({ timeout: RUN });
  await tabs.getByRole("link", { name: /^Metrics/ }).click();
  // promise: N-307
  await page.locator(".chart canvas").first().waitFor({ timeout: RUN });
}

/** A control that is not theirs is not there, and the page says why and who can change that. */
async function absent(page, control) {
  await page
    .locator(".lackline")
    .getByText(/needs Full/)
    .waitFor();
  // promise: N-307
  same(await control.count(), 0, `controls ${control} for a viewer`);
}

/** A viewer sees what is to be seen, and no control of what is not theirs; its keys do nothing. */
async function looks(page, made, under) {
  const before = (await api(page, `/deployments/${made.id}`)).expires_at;
  await page.goto("/deployments");
  await absent(page, page.getByRole("button", { name: /New deployment/ }));
  await page.goto(`/d/${made.id}/run`);
  await pill(page).waitFor();
  for (const name of [/^Clone/, /^Extend/, /^Hold/, /^Delete/]) await absent(page, act(page, name));
  for (const key of ["e", "r", "c"]) await page.keyboard.press(key);
  // promise: N-307
  same(await page.getByRole("dialog").count(), 0, "questions to a viewer");
  await accessible(page, "a deployment of which no act is theirs");
  await picture(page, "viewer-acts");
  await reads(page, made.id);
  await page.goto(`/d/${under.id}/run`);
  await absent(page, act(page, "Cancel and undo"));
  const { status } = await api(page, `/deployments/${under.id}`);
  same(status, "applying", "what a viewer tried to cancel");
  same((await api(page, `/deployments/${made.id}`)).expires_at, before, "what a viewer extended");
}

/** Extended, held with a reason that others read, and released. */
async function prolongs(page, made, name) {
  await page.goto(`/d/${made.id}/run`);
  const read = () => api(page, `/deployments/${made.id}`);
  const { expires_at: before } = await read();
  await act(page, /^Extend/).click();
  await toast(page, `${made.name} has its whole time again`);
  const { expires_at: after } = await read();
  // promise: N-307
  check(Date.parse(after) > Date.parse(before), `it ended ${before}, and now ${after}`);
  await act(page, /^Hold/).click();
  const asks = question(page, `Hold ${made.name}?`);
  const holds = asks.getByRole("button", { name: "Hold" });
  same(await holds.getAttribute("aria-disabled"), "true", "holding without a reason");
  await asks.getByLabel("Why").fill("Payments are looked into");
  await holds.click();
  await page.getByText(`Held by ${name}`).waitFor();
  await page.getByText("Payments are looked into").first().waitFor();
  same((await read()).hold?.owner, name, "who holds it");
  await act(page, "Release").click();
  await toast(page, `${made.name} is no longer held`);
  same((await read()).hold, undefined, "the hold after its release");
}

/** Deleted, and made once more from its record: the page goes to the new one, which is canceled. */
async function again(page, made) {
  await page.goto(`/d/${made.id}/run`);
  await act(page, /^Delete/).click();
  await question(page, `Delete ${made.name}?`).getByRole("button", { name: "Delete" }).click();
  await until("removed", async () => (await pill(page).innerText()) === "Removed", RUN);
  await act(page, /^Recreate/).click();
  await page
    .waitForURL(new RegExp(`/deployments/${made.environment}/${made.name}/run`))
    .catch(async () => {
      throw new Error(`nothing was made again: ${await page.locator("body").innerText()}`);
    });
  const path = `/deployments?environment=${made.environment}&name=${made.name}&limit=1`;
  const { items } = await api(page, path);
  check(items[0] && items[0].id !== made.id, "nothing new was made");
  same(items[0].versions, made.versions, "what it was made of");
  return items[0];
}

/** Stopped while under way: it asks, undoes, and says so. */
async function cancels(page, { id, name }) {
  await page.goto(`/d/${id}/run`);
  await act(page, "Cancel and undo").first().waitFor();
  // promise: N-307
  same(await act(page, "Cancel and undo").count(), 1, "buttons to cancel");
  await act(page, "Cancel and undo").click();
  await question(page, `Stop and undo ${name}?`)
    .getByRole("button", { name: "Stop and undo" })
    .click();
  const gone = async () => GONE.includes((await api(page, `/deployments/${id}`)).status);
  // promise: N-307
  await until(`${name} is canceled`, gone, RUN);
}

export const stories = [
  [
    "each act on a deployment has its control; a viewer has none, and reads who can change that",
    async ({ page, browser }) => {
      await signIn(page);
      const project = await waiting(page);
      const { engineer, viewer, leave } = await invite(page, ["shop", project]);
      const [mine, theirs] = [await open(browser), await open(browser)];
      const left = [];
      let unruled;
      try {
        await signIn(mine.page, "/deployments", engineer);
        const made = await create(mine.page, freshName("acts"));
        left.push(made);
        unruled = await ruled(page, made.environment);
        const under = await create(mine.page, freshName("under"), project);
        left.push(under);
        const status = async () => (await api(page, `/deployments/${made.id}`)).status;
        await until("ready", async () => (await status()) === "ready", RUN);
        await may(mine.page, made.id);
        await signIn(theirs.page, "/deployments", viewer);
        await looks(theirs.page, await api(page, `/deployments/${made.id}`), under);
        await prolongs(mine.page, made, engineer.name);
        await cancels(mine.page, under);
        left.push(await again(mine.page, made));
        await cancels(mine.page, left.at(-1));
      } finally {
        for (const { id } of left) await cleanUp(page, id);
        await unruled?.();
        await mine.context.close();
        await theirs.context.close();
        await leave();
        await send(page, "DELETE", `/projects/${project}`);
      }
    },
  ],
];
