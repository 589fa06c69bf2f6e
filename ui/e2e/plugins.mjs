// An admin registers a plugin, and its schema is the form of its steps.
import {
  accessible,
  api,
  check,
  freshName,
  picture,
  RUN,
  same,
  send,
  signIn,
  until,
} from "./browser.mjs";

const tries = { default: 3, title: "How often", type: "integer" };
const mood = { enum: ["calm", "loud"], title: "In what mood", type: "string" };
const address = { description: "A host, such as web.", title: "Whom to greet", type: "string" };
const rest = { required: ["address"], type: "object" };
const SCHEMA = { additionalProperties: false, properties: { tries, mood, address }, ...rest };
// In the order of the alphabet, as the server gives it back, with the order in which it was written.
const STORED = {
  additionalProperties: false,
  properties: { address, mood, tries },
  ...rest,
  "x-order": ["tries", "mood", "address"],
};

/** Fills in every field of the sheet and saves. */
async function register(page, name, of) {
  await page.goto("/plugins");
  await page.getByRole("button", { name: "Add plugin" }).click();
  const sheet = page.getByRole("dialog", { name: "Add a plugin" });
  const field = (label) => sheet.getByLabel(label, { exact: true });
  await field("Name").fill(name);
  await field("Registry").selectOption(of.registry);
  await field("Image").fill(of.image);
  await field("Tag").fill(of.tag);
  await sheet.getByLabel(/^What it does/).fill("Greets, as often as it is told to");
  await sheet.getByLabel(/^Parameters/).fill(JSON.stringify(SCHEMA));
  await sheet.getByLabel(/^CPU/).fill("0.25");
  await sheet.getByLabel(/^Memory/).fill("48");
  await sheet.getByRole("button", { name: /^Create/ }).click();
  await sheet.waitFor({ state: "detached" });
  await page.getByText(name, { exact: true }).first().waitFor();
}

/** Everything that was typed is stored, and shown again. */
async function stored(page, name, of) {
  const found = await api(page, `/plugins/${name}`);
  const { component } = found;
  // promise: N-067
  same(
    [found.name, found.registry, found.image, found.tag, component.description],
    [name, of.registry, of.image, of.tag, "Greets, as often as it is told to"],
    "what was registered",
  );
  // promise: N-067
  same(component.parameters, STORED, "the stored schema");
  same(component.resources, { cpu: 0.25, memory_mib: 48 }, "the stored limits");
  check(/^sha256:[0-9a-f]{64}$/.test(found.digest), `no digest: ${found.digest}`);
}

/** A step of the plugin has the schema's fields, kinds and words, and saves what is put into them. */
async function form(page, name, project) {
  await send(page, "PUT", `/projects/${project}`, { resources: { memory_mib: 512 } });
  await page.goto(`/projects/${project}/pipeline`);
  const palette = page.getByRole("complementary", { name: "Steps to add" });
  await palette.getByRole("button", { name }).click();
  await page.locator(`.en[data-key="${name}"]`).click();
  const fields = page.locator('[data-field^="plugin.parameters."]');
  await fields.first().waitFor();
  same(
    await fields.evaluateAll((all) => all.map((one) => one.dataset.field.split(".")[2])),
    ["tries", "mood", "address"],
    "fields in the order of the schema",
  );
  // promise: N-067
  await page.getByLabel("Whom to greet", { exact: true }).fill("web");
  await page.getByText("A host, such as web.").waitFor();
  // promise: N-067
  same(
    await page
      .getByLabel("In what mood", { exact: true })
      .locator("option")
      .allInnerTexts()
      .then((all) => all.slice(1)),
    ["calm", "loud"],
    "what can be chosen",
  );
  await page.getByLabel("In what mood", { exact: true }).selectOption({ label: "loud" });
  await page.getByLabel("How often", { exact: true }).fill("7");
  // promise: N-067
  await until("the draft has what was typed", async () => {
    const { content } = await api(page, `/projects/${project}/draft`).catch(() => ({}));
    const step = content?.steps.find((one) => one.key === name);
    const { address, tries, mood } = step?.plugin.parameters ?? {};
    return address === "web" && tries === 7 && mood === "loud";
  });
}

/** What is refused is said at its field, and nothing is made. */
async function refused(sheet) {
  await sheet.getByRole("button", { name: "Run it" }).click();
  const url = sheet.locator('[data-field="plugin.parameters.url"]');
  await url.locator(".er").waitFor();
}

/** The plugin runs to its end as a deployment of its own, is read right there, and removed again. */
async function trial(page) {
  await page.goto("/plugins?open=http-check");
  const form = page.getByRole("dialog", { name: "http-check", exact: true });
  await form.getByRole("button", { name: "Test run" }).click();
  const sheet = page.getByRole("dialog", { name: "Test run of http-check" });
  await sheet.getByLabel("Project", { exact: true }).selectOption("shop");
  await sheet.getByLabel("Environment", { exact: true }).selectOption("qa");
  await refused(sheet);
  await sheet.getByLabel("URL", { exact: true }).fill("http://127.0.0.1:9/");
  await sheet.getByLabel("Retries", { exact: true }).fill("1");
  await accessible(page, "a test run's form");
  await sheet.getByRole("button", { name: "Run it" }).click();
  const run = sheet.getByRole("region", { name: "Test run" });
  const id = (await run.getByRole("link").getAttribute("href")).split("/")[2];
  try {
    const state = async () => (await run.locator(".pill").innerText()).trim();
    // Nothing answers there: that is how it ends, and the log says so.
    await until("the plugin failed", async () => (await state()) === "Failed", RUN);
    await until("its log is shown", async () => (await run.locator(".ln").count()) > 0);
    await accessible(page, "a test run at its end");
    await picture(page, "test-run");
    const { scratch, environment } = await api(page, `/deployments/${id}`);
    same([scratch, environment], [true, "qa"], "the deployment of a test run");
    await run.getByRole("button", { name: "Remove it" }).click();
    await until("it is removed", async () => (await state()) === "Removed", RUN);
  } finally {
    await send(page, "DELETE", `/deployments/${id}`).catch(() => undefined);
  }
}

/** A plugin that gives back what its one parameter tells it to print. */
async function talker(page, name) {
  const { registry, tag } = await api(page, "/plugins/http-check");
  const parameters = {
    type: "object",
    required: ["command"],
    properties: { command: { title: "Command" } },
  };
  const component = { actions: ["create", "delete"], parameters, outputs: { type: "object" } };
  await send(page, "PUT", `/plugins/${name}`, { registry, image: "plugins/shell", tag, component });
}

/** Opened by its address, it runs to its good end, and what it gave back is read there. */
async function succeeds(page, name) {
  await page.goto(`/plugins?open=${name}&sheet=trial`);
  const sheet = page.getByRole("dialog", { name: `Test run of ${name}` });
  await sheet.getByLabel("Project", { exact: true }).selectOption("shop");
  await sheet.getByLabel("Environment", { exact: true }).selectOption("qa");
  await sheet
    .getByLabel("Command", { exact: true })
    .fill('["sh", "-c", "echo \'{\\"greeting\\": \\"good day\\"}\'"]');
  await sheet.getByRole("button", { name: "Run it" }).click();
  const run = sheet.getByRole("region", { name: "Test run" });
  const id = (await run.getByRole("link").getAttribute("href")).split("/")[2];
  try {
    const state = async () => (await run.locator(".pill").innerText()).trim();
    await until("the plugin is done", async () => (await state()) === "Ready", RUN);
    const gave = run.locator(".field", { hasText: "What it gave back" }).locator("pre");
    same(JSON.parse(await gave.innerText()), { greeting: "good day" }, "what it gave back");
    await picture(page, "test-run-outputs");
    await run.getByRole("button", { name: "Remove it" }).click();
    await until("it is removed", async () => (await state()) === "Removed", RUN);
    same(await run.getByRole("button", { name: "Remove it" }).count(), 0, "further removals");
  } finally {
    await send(page, "DELETE", `/deployments/${id}`).catch(() => undefined);
  }
}

export const stories = [
  [
    "test-run a plugin that succeeds: what it gave back is shown, and it is removed",
    async ({ page }) => {
      await signIn(page);
      const name = freshName("talks");
      await talker(page, name);
      try {
        await succeeds(page, name);
      } finally {
        await send(page, "DELETE", `/plugins/${name}`).catch(() => undefined);
      }
    },
  ],
  [
    "test-run a plugin: refused at the field, run to its end, its log read, and removed",
    async ({ page }) => {
      await signIn(page);
      await trial(page);
    },
  ],
  [
    "register a plugin, and its schema is the form of its steps",
    async ({ page }) => {
      await signIn(page);
      const [name, project] = [freshName("greet"), freshName("greeted")];
      const of = await api(page, "/plugins/http-check");
      try {
        await register(page, name, of);
        await stored(page, name, of);
        await form(page, name, project);
      } finally {
        await send(page, "DELETE", `/projects/${project}`).catch(() => undefined);
        await send(page, "DELETE", `/plugins/${name}`).catch(() => undefined);
      }
    },
  ],
];
