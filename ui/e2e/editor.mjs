// A pipeline is drawn with the mouse and with the keyboard, by two windows at once, and published.
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
import { cleanUp, create } from "./main.mjs";

/** A project of the story's own, which goes with it. */
export async function makeProject(page, name) {
  const status = await page.evaluate(async (url) => {
    const body = JSON.stringify({ resources: { memory_mib: 8192 } });
    const headers = { "Content-Type": "application/json" };
    return (await fetch(url, { method: "PUT", headers, body })).status;
  }, `/api/v1/projects/${name}`);
  same(status, 200, "the project");
}

export async function dropProject(page, name) {
  await page.evaluate((url) => fetch(url, { method: "DELETE" }), `/api/v1/projects/${name}`);
}

export const node = (page, key) => page.locator(`.en[data-key="${key}"]`);
export const saved = (page) => page.locator("[data-saving=saved]").waitFor({ timeout: RUN });

async function drag(page, from, to) {
  const [a, b] = [await from.boundingBox(), await to.boundingBox()];
  check(a && b, "nothing to drag from, or to");
  await page.mouse.move(a.x + a.width / 2, a.y + a.height / 2);
  await page.mouse.down();
  await page.mouse.move(b.x + b.width / 2 - 12, b.y + b.height / 2, { steps: 6 });
  await page.mouse.move(b.x + b.width / 2, b.y + b.height / 2);
  await page.mouse.up();
}

/** Until what is laid out anew has come to rest: a hand waits for that too. */
async function rest(page, locator) {
  let before = "";
  await until("the graph rests", async () => {
    const now = JSON.stringify(await locator.boundingBox());
    const still = now === before;
    before = now;
    await page.waitForTimeout(150);
    return still;
  });
}

/** Draws a line, and again when the graph was still moving under the hand. */
export async function draws(page, from, to, line) {
  for (let i = 0; i < 5; i++) {
    await rest(page, from);
    await rest(page, to);
    await drag(page, from, to);
    const there = line.waitFor({ state: "attached", timeout: 4_000 });
    if (
      await there.then(
        () => true,
        () => false,
      )
    )
      return;
  }
  await line.waitFor({ state: "attached" });
}

/** Two services by drag and drop and by keyboard, an edge with the mouse; then it is published. */
async function draw(page, project) {
  await page.getByText("Drag a service here, or press A.").waitFor();
  const palette = page.getByRole("complementary", { name: "Steps to add" });
  const all = palette.getByRole("region", { name: "Services" }).getByRole("button");
  const first = await all.first().locator("span").first().innerText();
  await all.first().dragTo(page.locator(".cv"), { targetPosition: { x: 80, y: 120 } });
  // promise: N-043
  await node(page, first).waitFor();
  await page.locator(".cv .react-flow__pane").click({ position: { x: 30, y: 30 } });
  await page.keyboard.press("a");
  await page.keyboard.type(first);
  await page.keyboard.press("Enter");
  await node(page, `${first}-2`).waitFor();
  await page.getByRole("button", { name: "Tidy" }).click();
  await draws(
    page,
    node(page, first).locator(".react-flow__handle.source.sq"),
    node(page, `${first}-2`).locator(".react-flow__handle.target.sq"),
    page.locator(`.react-flow__edge[data-id="order|${first}||${first}-2"]`),
  );
  await accessible(page, "the editor");
  await picture(page, "editor");
  await publish(page);
  const { version, pipeline } = await api(page, `/projects/${project}/pipeline`);
  same(version, 1, "the version");
  const second = pipeline.steps.find((step) => step.key === `${first}-2`);
  same(second?.needs, [first], "what it waits for");
  return first;
}

export async function publish(page) {
  const act = page.getByRole("button", { name: /^Publish v/ });
  await until(
    "nothing stands in the way of publishing",
    async () => (await act.getAttribute("aria-disabled")) === null,
    60_000,
  );
  await act.click();
  await page.getByText(/is published\. New deployments/).waitFor();
}

/** Both windows add steps in turn without waiting for each other: each of them is in the draft. */
async function together(left, right, project) {
  const add = (page) => page.getByRole("button", { name: "Approval", exact: true });
  for (let i = 0; i < 15; i++) {
    await add(left).click();
    const targetPosition = { x: 60 + 25 * i, y: 60 };
    await add(right).dragTo(right.locator(".cv"), { targetPosition });
  }
  const approvals = async () => {
    const { content } = await api(left, `/projects/${project}/draft`);
    return (content?.steps ?? []).filter((step) => step.approval).length;
  };
  await until(
    "30 edits of two windows are in one draft",
    async () => (await approvals()) === 30,
    RUN,
  );
  await Promise.all([saved(left), saved(right)]);
  await left.reload();
  await node(left, "approval").waitFor({ state: "attached" });
  same(await approvals(), 30, "after everything is saved");
}

/** Three services and their order, a line taken away again, the dry run, and published: no key. */
async function byMouse(page, project) {
  await page.goto(`/projects/${project}/pipeline`);
  await page.getByText("Drag a service here, or press A.").waitFor();
  await page.evaluate(() => {
    window.keys = 0;
    window.addEventListener("keydown", () => window.keys++, true);
  });
  const all = page
    .getByRole("complementary", { name: "Steps to add" })
    .getByRole("region", { name: "Services" })
    .getByRole("button");
  const names = [];
  for (let i = 0; i < 3; i++) {
    names.push(await all.nth(i).locator("span").first().innerText());
    await all.nth(i).dragTo(page.locator(".cv"), { targetPosition: { x: 60, y: 60 + 150 * i } });
    await node(page, names[i]).waitFor();
  }
  await page.getByRole("button", { name: "Tidy" }).click();
  const [a, b, c] = names;
  const out = (key) => node(page, key).locator(".react-flow__handle.source.sq");
  const into = (key) => node(page, key).locator(".react-flow__handle.target.sq");
  const line = (from, to) => page.locator(`.react-flow__edge[data-id="order|${from}||${to}"]`);
  await draws(page, out(a), into(b), line(a, b));
  await draws(page, out(b), into(c), line(b, c));
  // It follows from the other two, and is drawn while it is chosen.
  await draws(page, out(a), into(c), line(a, c));
  await page.getByRole("button", { name: "Undo" }).click();
  await line(a, c).waitFor({ state: "detached" });
  await dryRun(page, project, names);
  await publish(page);
  const { pipeline } = await api(page, `/projects/${project}/pipeline`);
  const order = Object.fromEntries(pipeline.steps.map((step) => [step.key, step.needs ?? []]));
  // promise: N-042
  same(order, { [a]: [], [b]: [a], [c]: [b] }, "what was drawn");
  same(await page.evaluate(() => window.keys), 0, "keys pressed");
}

/** The draft is tried, though nobody published it: each node says that it passes, nothing is made. */
async function dryRun(page, project, names) {
  const count = async () => (await api(page, "/deployments?removed=true&limit=500")).items.length;
  const before = await count();
  await saved(page);
  await page.getByRole("button", { name: "Dry run" }).first().click();
  const panel = page.getByRole("tabpanel", { name: "Dry run" });
  await panel.getByRole("button", { name: "Dry run" }).click();
  await panel.getByText("A deployment could be created now.").waitFor({ timeout: 60_000 });
  for (const name of names) await node(page, name).getByText("passes the dry run").waitFor();
  await picture(page, "dry-run");
  same(await count(), before, "deployments after the dry run");
  same(
    (await api(page, `/projects/${project}`)).pipeline_version ?? 0,
    0,
    "versions after the dry run",
  );
}

/** The shop's own pipeline as a draft of this project. */
async function shopAsDraft(page, project) {
  const { pipeline } = await api(page, "/projects/shop/pipeline");
  const drawn = ({ image, component, ...part }) => part;
  const steps = pipeline.steps.map(({ service, plugin, ...step }) => ({
    ...step,
    ...(service ? { service: drawn(service) } : { plugin: drawn(plugin) }),
  }));
  await send(page, "PUT", `/projects/${project}/draft`, { base_version: 0, content: { steps } });
}

/** A host is text: no wire leads from it into a number, but one does into a name. */
async function typed(page, project) {
  await shopAsDraft(page, project);
  await page.goto(`/projects/${project}/pipeline`);
  const port = (key, id) => node(page, key).locator(`.react-flow__handle[data-handleid="${id}"]`);
  const host = port("postgres", "out:host");
  await host.waitFor();
  await rest(page, host);
  await drag(page, host, port("create-db", "in:plugin.parameters.port"));
  // promise: I-12
  await page
    .locator(".toast", { hasText: /postgres\.host is text; port wants a number/ })
    .waitFor();
  // What is as new as a change is not of the past with it.
  await page.waitForTimeout(1100);
  await draws(
    page,
    host,
    port("create-db", "in:plugin.parameters.database"),
    page.locator(
      '.react-flow__edge[data-id="value|postgres|host|create-db|plugin.parameters.database"]',
    ),
  );
  await page.locator(".toast", { hasText: "wants a number" }).waitFor({ state: "detached" });
  await saved(page);
  const { content } = await api(page, `/projects/${project}/draft`);
  const { port: kept, database } = content.steps[1].plugin.parameters;
  // promise: I-12
  same(kept, "${{ services.postgres.port }}", "what no wire could change");
  same(database, "shop${{ services.postgres.host }}", "the name, with what the wire gave");
}

/** Sixty steps in a grid, each after the one before: from far they are names, and can be moved. */
async function fromFar(page, project, service) {
  const steps = Array.from({ length: 60 }, (_, i) => ({
    key: `step-${i}`,
    ...(i > 0 ? { needs: [`step-${i - 1}`] } : {}),
    service: { name: service, resources: { memory_mib: 16 } },
    position: { x: (i % 10) * 340, y: Math.floor(i / 10) * 180 },
  }));
  await send(page, "PUT", `/projects/${project}/draft`, { base_version: 0, content: { steps } });
  await page.goto(`/projects/${project}/pipeline`);
  const one = node(page, "step-25");
  await page.locator(".en.far").first().waitFor();
  await rest(page, one);
  same(await page.locator(".en.far").count(), 60, "steps seen from far");
  const lines = await page
    .locator(".fars path")
    .evaluateAll((all) => all.map((path) => path.getAttribute("d")));
  same(lines.join("").split("M").length - 1, 59, "lines between them");
  const box = await one.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2 + 8, box.y + 120, { steps: 12 });
  await page.mouse.up();
  const place = async () =>
    (await api(page, `/projects/${project}/draft`)).content.steps.find(
      ({ key }) => key === "step-25",
    ).position;
  await until("the step is saved where it was let go", async () => (await place()).y > 400, RUN);
  await accessible(page, "the editor from far");
  await page.getByRole("button", { name: "Zoom in" }).click();
  await page.getByRole("button", { name: "Zoom in" }).click();
  await page.getByRole("button", { name: "Zoom in" }).click();
  await page.locator(".react-flow__handle").first().waitFor();
  same(await page.locator(".en.far").count(), 0, "steps without ports, seen from near");
  const map = page.getByRole("img", { name: "Map of the pipeline" });
  for (const [at, key] of [
    [{ x: 190, y: 100 }, "step-59"],
    [{ x: 10, y: 50 }, "step-0"],
  ]) {
    await map.click({ position: at });
    await node(page, key).waitFor();
  }
}

/** A step is added, the window becomes narrow and wide again: the step, and its undo, are still here. */
async function narrowed(page, project) {
  await page.goto(`/projects/${project}/pipeline`);
  await page.getByText("Drag a service here, or press A.").waitFor();
  await page.getByRole("button", { name: "Approval", exact: true }).click();
  await node(page, "approval").waitFor();
  const size = page.viewportSize();
  await page.setViewportSize({ width: 600, height: size.height });
  await node(page, "approval").waitFor({ state: "detached" });
  await page.setViewportSize(size);
  await node(page, "approval").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await node(page, "approval").waitFor({ state: "detached" });
}

export const stories = [
  [
    "a window that is narrow for a while loses nothing of a drawing, nor of what can be undone",
    async ({ page }) => {
      const project = freshName("narrow");
      await signIn(page);
      await makeProject(page, project);
      try {
        await narrowed(page, project);
      } finally {
        await dropProject(page, project);
      }
    },
  ],
  [
    "a wire is refused where its type does not fit, with the reason",
    async ({ page }) => {
      const project = freshName("wires");
      await signIn(page);
      await makeProject(page, project);
      try {
        await typed(page, project);
      } finally {
        await dropProject(page, project);
      }
    },
  ],
  [
    "a large pipeline is seen from far, and a step of it moved",
    async ({ page }) => {
      const project = freshName("far");
      await signIn(page);
      await makeProject(page, project);
      try {
        const [service] = (await api(page, "/services?limit=1")).items;
        await fromFar(page, project, service.name);
      } finally {
        await dropProject(page, project);
      }
    },
  ],
  [
    "a pipeline is drawn, tried and published with the mouse alone",
    async ({ page }) => {
      const project = freshName("mouse");
      await signIn(page);
      await makeProject(page, project);
      try {
        await byMouse(page, project);
      } finally {
        await dropProject(page, project);
      }
    },
  ],
  [
    "draw a pipeline with mouse and keyboard, publish it, and edit it in two windows at once",
    async ({ page, browser }) => {
      const project = freshName("drawn");
      await signIn(page);
      await makeProject(page, project);
      const other = await open(browser);
      try {
        await page.goto(`/projects/${project}/pipeline`);
        const first = await draw(page, project);
        await signIn(other.page, `/projects/${project}/pipeline`);
        await node(other.page, first).waitFor();
        await together(page, other.page, project);
      } finally {
        await other.context.close();
        await dropProject(page, project);
      }
    },
  ],
  [
    "a clone's sheet begins with the source's versions, says what will differ and checks it",
    async ({ page }) => {
      const name = freshName("source");
      await signIn(page);
      const made = await create(page, name);
      try {
        await until(
          "the source is ready",
          async () => (await api(page, `/deployments/${made.id}`)).status === "ready",
          RUN,
        );
        await page.getByRole("link", { name: "Clone", exact: true }).click();
        const sheet = page.getByRole("dialog", { name: `Clone ${name}` });
        await sheet.getByText(/^Pipeline unchanged, v/).waitFor();
        await sheet.getByText(/Not carried over/).waitFor();
        await sheet.getByText(/ checks? passed/).waitFor();
        check((await sheet.getByLabel("Name", { exact: true }).inputValue()) !== name, "the name");
        await accessible(page, "the clone's sheet");
        await picture(page, "clone");
        await page.goto(`/d/${made.id}/capsule`);
        await page.getByRole("heading", { name: `Bug capsule of ${name}` }).waitFor();
        await accessible(page, "the bug capsule");
      } finally {
        await cleanUp(page, made.id);
      }
    },
  ],
];
