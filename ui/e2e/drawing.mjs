// What else people do with a drawing: carry steps to another project, go back to a version, run a branch.
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
import { draws, dropProject, makeProject, node, saved } from "./editor.mjs";
import { cleanUp } from "./main.mjs";
import { invite } from "./people.mjs";

const web = (env = {}) => ({
  key: "web",
  service: {
    name: "shop-web",
    env,
    ports: [{ name: "http", port: 8080, expose: true }],
    resources: { memory_mib: 64 },
    ready: { http: { port: 8080, path: "/healthz" } },
  },
  position: { x: 0, y: 0 },
});
const approval = {
  key: "look",
  needs: ["web"],
  approval: { prompt: "Go on?" },
  position: { x: 260, y: 0 },
};

const publish = (page, project, steps, note) =>
  send(page, "PUT", `/projects/${project}/pipeline`, { pipeline: { steps }, note });
const draft = (page, project, steps, base_version = 0) =>
  send(page, "PUT", `/projects/${project}/draft`, { base_version, content: { steps } });
const drawn = async (page, project) => (await api(page, `/projects/${project}/draft`)).content;

/** Tells a story in projects of its own. */
const inProjects = (count, story) => async (given) => {
  const { page } = given;
  const names = Array.from({ length: count }, (_, i) => freshName(`drawn-${i}`));
  await signIn(page);
  try {
    for (const name of names) await makeProject(page, name);
    await story(given, ...names);
  } finally {
    for (const name of names) await dropProject(page, name);
  }
};

/** A step goes from one project to another by the keys that copy and paste anything else. */
async function carry({ page, context }, from, to) {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const copied = { PLACE: "${{ deployment.name }}" };
  await draft(page, from, [web(copied)]);
  await page.goto(`/projects/${from}/pipeline`);
  await node(page, "web").click();
  await page.keyboard.press("Control+c");
  await page.getByText(/1 step copied as JSON/).waitFor();
  await page.goto(`/projects/${to}/pipeline`);
  await page.getByText("Drag a service here, or press A.").waitFor();
  await page.keyboard.press("Control+v");
  await node(page, "web").waitFor();
  await saved(page);
  await until("the step is in the other draft", async () => await drawn(page, to));
  const [{ service }] = (await drawn(page, to)).steps;
  const { name, env, ports } = service;
  same([name, env, ports.length], ["shop-web", copied, 1], "the step in the other project");
}

/** Two versions: what the second changed, any two side by side, and the first once more. */
async function goBack({ page }, project) {
  await publish(page, project, [web()]);
  await publish(page, project, [web({ COLOUR: "green" }), approval], "asks before it goes on");
  await page.goto(`/projects/${project}/pipeline?panel=history`);
  const sheet = page.getByRole("dialog", { name: `Versions of ${project}` });
  const version = (number) => sheet.getByRole("region", { name: `v${number}`, exact: true });
  await version(2).getByText("asks before it goes on").waitFor();
  for (const said of ["look", "added", "variable COLOUR", "green"])
    await version(2).getByText(said, { exact: true }).waitFor();
  await accessible(page, "the history");
  await picture(page, "history");
  await version(1).getByRole("button", { name: "Compare", exact: true }).click();
  await page.waitForURL(/compare=v1\.\.v2/);
  const both = sheet.getByRole("region", { name: "Comparison" });
  await both.getByText("variable COLOUR", { exact: true }).waitFor();
  await both.getByRole("button", { name: "All versions" }).click();
  await version(1).getByRole("button", { name: "Bring it back" }).click();
  await page.getByText("v1 is published again as v3.").waitFor();
  await version(3).getByText("current", { exact: true }).waitFor();
  const first = await api(page, `/projects/${project}/pipeline/versions/1`);
  const now = await api(page, `/projects/${project}/pipeline`);
  same([now.version, now.digest], [3, first.digest], "what is published now");
  await page.keyboard.press("Escape");
  await sheet.waitFor({ state: "detached" });
  await node(page, "look").waitFor({ state: "detached" });
  await compareOnCanvas(page);
}

/** Against the second version a step is gone, and another changed: by sign, not by colour alone. */
async function compareOnCanvas(page) {
  await page.getByRole("tab", { name: /^Changes/ }).click();
  await page.getByRole("combobox", { name: "Compared with" }).selectOption("2");
  await page.waitForURL(/compare=v2\.\.draft/);
  await node(page, "look").getByText("−").waitFor();
  await node(page, "web").getByText("≠").waitFor();
  await page.locator('.react-flow__edge.gone[data-id="order|web||look"]').waitFor();
  await accessible(page, "a comparison on the canvas");
  await picture(page, "compare");
}

/** The same page to read: every field as text, the history, who runs what; and nothing to press. */
async function read({ page, browser }, project, empty) {
  const { viewer, leave } = await invite(page, [project, empty]);
  const other = await open(browser);
  const reader = other.page;
  try {
    const files = [{ path: "/etc/motd", content: "hello\nworld" }];
    const step = web({ COLOUR: "green" });
    await publish(page, project, [web()]);
    const steps = [{ ...step, service: { ...step.service, files } }, approval];
    const comments = [{ text: "Ask Mira first", position: { x: 0, y: -90 } }];
    await send(page, "PUT", `/projects/${project}/pipeline`, { pipeline: { steps, comments } });
    await signIn(reader, `/projects/${project}/pipeline`, viewer);
    await reader.getByText("Ask Mira first").waitFor();
    await reader.getByText(/No deployment runs a version/).waitFor();
    await accessible(reader, "a pipeline to read");
    await reader.locator('[data-step="web"]').click();
    const side = reader.getByRole("region", { name: "web", exact: true });
    for (const said of ["green", "/healthz", "hello", "64"])
      await side.getByText(new RegExp(said)).first().waitFor();
    await picture(reader, "read");
    await reader.getByRole("button", { name: "History" }).click();
    const sheet = reader.getByRole("dialog", { name: `Versions of ${project}` });
    await sheet.getByRole("region", { name: "v1", exact: true }).waitFor();
    same(await sheet.getByRole("button", { name: "Bring it back" }).count(), 0, "ways to restore");
    await reader.keyboard.press("Escape");
    await reader.setViewportSize({ width: 390, height: 800 });
    await picture(reader, "read-390");
    await accessible(reader, "a pipeline to read on a phone");
    await reader.goto(`/projects/${empty}/pipeline`);
    await reader.getByRole("heading", { name: "No pipeline yet" }).waitFor();
    await reader.goto("/projects/no-such-project/pipeline");
    await reader.getByText("Not found, or you have no access").waitFor();
  } finally {
    await other.context.close();
    await leave();
  }
}

/** A service whose tags are of a kind that no build has. */
async function never(page, name, service) {
  await send(page, "PUT", `/services/${name}`, service);
  return { key: "doomed", service: { name, resources: { memory_mib: 16 } } };
}

/** What is drawn cannot run, and its node says so; a branch of it can, and does. */
async function branch({ page }, project) {
  const service = freshName("never");
  const { registry, image } = await api(page, "/services/shop-web");
  const rule = { registry, image, tag_mode: "selectable", pattern: "no-build-has-this-*" };
  let made;
  try {
    const doomed = await never(page, service, rule);
    // It asks for both before it serves.
    const env = { API_URL: "http://nowhere:1", API_TOKEN: "none" };
    await publish(page, project, [web(env)]);
    await draft(page, project, [web(env), { ...doomed, position: { x: 260, y: 0 } }], 1);
    await page.goto(`/projects/${project}/pipeline?panel=dryRun&step=web`);
    const panel = page.getByRole("tabpanel", { name: "Dry run" });
    await panel.getByRole("combobox", { name: "Environment" }).selectOption("qa");
    await panel.getByRole("button", { name: "Dry run" }).click();
    await panel.getByText(/would refuse it/).waitFor();
    // promise: N-324
    await node(page, "doomed").locator('.bdg[data-st="failed"]').waitFor();
    // What was not looked at does not pass.
    same(await page.locator(".cv").getByText("passes the dry run").count(), 0, "steps that pass");
    await panel.getByRole("button", { name: "Run from here: web" }).click();
    const scratch = panel.getByRole("link", { name: /^scratch-web-/ });
    await scratch.waitFor();
    made = (await scratch.getAttribute("href")).split("/")[2];
    await page.getByRole("tab", { name: /^Problems/ }).click();
    await page.getByRole("tab", { name: "Dry run" }).click();
    await panel.getByText(/would refuse it/).waitFor();
    const status = panel.getByRole("status").filter({ hasText: /scratch-web-/ });
    const over = () => status.filter({ hasText: /Ready|Failed/ }).isVisible();
    await until("the branch has run", over, RUN);
    check(/Ready/.test(await status.innerText()), `the branch: ${await status.innerText()}`);
    const { steps_total, scratch: of } = await api(page, `/deployments/${made}`);
    same([steps_total, of], [1, true], "what ran");
  } finally {
    if (made) await cleanUp(page, made);
    await page.evaluate((url) => fetch(url, { method: "DELETE" }), `/api/v1/services/${service}`);
  }
}

/** What a service will see, before it runs; of a secret only that there is one. */
async function preview({ page }, project) {
  const value = "not-for-anybodys-eyes";
  await send(page, "PUT", `/projects/${project}/secrets/TOKEN`, { value });
  const env = { PLACE: "${{ deployment.project }}", TOKEN: "token ${{ secrets.TOKEN }}" };
  await draft(page, project, [web(env)]);
  await page.goto(`/projects/${project}/pipeline?step=web`);
  await page.getByRole("tab", { name: "Environment" }).click();
  const seen = page.locator(".insp .envs");
  await seen.getByText(project, { exact: true }).waitFor();
  const text = await seen.innerText();
  check(/TOKEN\s+token \[secret\]/.test(text), `the preview says ${text}`);
  check(!(await page.content()).includes(value), "the secret is on the page");
}

/** An output let go over a field of the inspector is a reference in it. */
async function intoField({ page }, project) {
  const { key, ...rest } = web();
  const steps = [{ key: "api", ...rest }, web({ API_URL: "" })];
  steps[1].position = { x: 300, y: 0 };
  await draft(page, project, steps);
  await page.goto(`/projects/${project}/pipeline?step=web`);
  const field = page.locator('.insp [data-field="service.env.API_URL"]');
  await field.waitFor();
  await draws(
    page,
    node(page, "api").locator('.react-flow__handle[data-handleid="out:url"]'),
    field,
    page.locator('.react-flow__edge[data-id="value|api|url|web|service.env.API_URL"]'),
  );
  await saved(page);
  const url = async () => (await drawn(page, project)).steps[1].service.env.API_URL;
  await until("the reference is saved", async () => (await url()) !== "");
  same(await url(), "${{ services.api.url }}", "what the port gave");
}

/** What is wrong is said at its place, leads to itself, and holds publishing until it is mended. */
async function mend({ page }, project) {
  const wrong = web();
  wrong.service.ports[0].port = 0;
  await draft(page, project, [wrong, approval]);
  await page.goto(`/projects/${project}/pipeline`);
  const badge = node(page, "web").locator('.bdg[data-st="failed"]');
  await badge.waitFor();
  const listed = page.getByRole("tabpanel", { name: "Problems" });
  await listed.getByText("Ports 1").waitFor();
  await page.keyboard.press("Control+Enter");
  await page.locator(".toast", { hasText: "Publish waits for 1 error" }).waitFor();
  await page.keyboard.press("F8");
  const ports = page.locator('.insp [data-field="service.ports"]');
  const led = () => ports.evaluate((field) => field.contains(document.activeElement));
  await until("F8 has led to the field", led);
  await picture(page, "problem");
  await ports.getByRole("textbox", { name: "Port number" }).fill("8080");
  await badge.waitFor({ state: "detached" });
  // Escape leads back to the step, and a key to the one that runs behind it.
  await page.keyboard.press("Escape");
  const focused = () => page.evaluate(() => document.activeElement.dataset.id);
  await until("the step has the focus", async () => (await focused()) === "web");
  await page.keyboard.press("j");
  await until("the next step has the focus", async () => (await focused()) === "look");
}

/** Several are chosen, and what is done is done to all of them, and undone as one. */
async function together({ page }, project) {
  const places = async () => {
    const { steps } = await drawn(page, project);
    return steps.map(({ position: { x, y } }) => [x, y]);
  };
  await draft(page, project, [web(), approval]);
  await page.goto(`/projects/${project}/pipeline`);
  await node(page, "look").waitFor();
  const before = await places();
  await node(page, "web").locator(".nm").click();
  await node(page, "look")
    .locator(".nm")
    .click({ modifiers: ["Control"] });
  await page.getByText("2 chosen").waitFor();
  const { x, y } = await node(page, "look").locator(".nm").boundingBox();
  await page.mouse.move(x + 4, y + 4);
  await page.mouse.down();
  await page.mouse.move(x + 90, y + 130, { steps: 8 });
  await page.mouse.up();
  const moved = async () => JSON.stringify(await places()) !== JSON.stringify(before);
  await until("the move is saved", moved);
  const after = await places();
  const by = after.map(([x, y], i) => [x - before[i][0], y - before[i][1]]);
  same(by[0], by[1], "how far each was moved");
  await page.keyboard.press("Control+z");
  await until("the move is undone", async () => !(await moved()));
  await page.keyboard.press("Control+Shift+z");
  await until(
    "and done again",
    async () => JSON.stringify(await places()) === JSON.stringify(after),
  );
  await page.keyboard.press("Control+d");
  for (const key of ["web-2", "look-2"]) await node(page, key).waitFor();
  await until("both copies are saved", async () => (await places()).length === 4);
  const copy = (await drawn(page, project)).steps.find((one) => one.key === "look-2");
  same(copy.needs, ["web-2"], "what the copy waits for");
}

export const stories = [
  ["a step is copied in one project and pasted in another", inProjects(2, carry)],
  ["history tells what changed, compares, and brings a version back", inProjects(1, goBack)],
  ["a pipeline is read by who does not draw it", inProjects(2, read)],
  ["a dry run marks what cannot pass, and a branch is run from the editor", inProjects(1, branch)],
  ["a service's environment is previewed with its secret masked", inProjects(1, preview)],
  ["a port is dropped onto a field of the inspector", inProjects(1, intoField)],
  ["a mistake is marked, led to by F8, and holds publishing until mended", inProjects(1, mend)],
  ["two steps are chosen, moved and duplicated together; redo by key", inProjects(1, together)],
];
