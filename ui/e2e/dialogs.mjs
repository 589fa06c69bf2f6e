// Zero faults of axe-core in the sheets and questions of single acts: machines, removals, publishing, what is shown once.
import { freshName, send, signIn, until } from "./browser.mjs";
import { dropProject, makeProject, saved } from "./editor.mjs";
import { waiting } from "./life.mjs";
import { looked } from "./looks.mjs";
import { cleanUp, pill } from "./main.mjs";

/** Looked at over its page, and closed; what was typed into it is left. */
async function over(page, title, name) {
  const dialog = page.getByRole("dialog", { name: title });
  await dialog.waitFor();
  await looked(page, name);
  await until(`${name} is closed`, async () => {
    await page.keyboard.press("Escape");
    const leave = page.getByRole("button", { name: "Leave", exact: true });
    if (await leave.isVisible()) await leave.click();
    return (await page.getByRole("dialog").count()) === 0;
  });
}

const press = (page, name) => page.getByRole("button", { name }).first().click();

/** A machine that is named and never heard: its line, the way by SSH, another token. */
async function machine(page, name) {
  await page.goto("/nodes?add=true");
  const sheet = page.getByRole("dialog", { name: "Add a node" });
  await sheet.getByLabel("Name").fill(name);
  await sheet.getByLabel("Address").fill("127.0.0.1:9");
  await sheet.getByRole("button", { name: "Add node" }).click();
  await page.getByRole("dialog", { name: `Run this on ${name}` }).waitFor();
  await looked(page, "the line that joins a node");
  await press(page, "Set it up over SSH instead");
  await over(page, /SSH/, "a node that is set up over SSH");
  await page.goto(`/nodes/${name}`);
  await press(page, "Rotate token");
  await over(page, `Give ${name} a new token?`, "a token that is rotated");
}

/** As it would be if something of it had been left behind. */
async function stuck(page, { id, name }) {
  const path = `**/api/v1/deployments/${id}`;
  await page.route(path, async (route) => {
    const response = await route.fetch();
    const { question, ...told } = await response.json();
    await route.fulfill({ response, json: { ...told, status: "stuck", revision: 1e9 } });
  });
  await page.goto(`/d/${id}/run`);
  await pill(page).getByText("Stuck").waitFor();
  await press(page, "Forget");
  const asks = page.getByRole("dialog", { name: `Forget ${name}?` });
  await asks.waitFor();
  await looked(page, "a question that wants the name typed");
  await asks.getByRole("textbox").fill(name);
  await over(page, `Forget ${name}?`, "a question with the name typed");
  await page.unroute(path);
}

async function removals(page, [made, other]) {
  await stuck(page, made);
  await page.goto(`/d/${made.id}/capsule`);
  await page.getByRole("textbox", { name: /name/i }).first().fill("Not_A_Name");
  await looked(page, "a capsule whose copy is named wrongly");
  await page.goto(`/deployments?q=${made.name}`);
  for (const { id } of [made, other]) await page.locator(`[data-id="${id}"]`).waitFor();
  for (const key of ["j", "x", "j", "x"]) await page.keyboard.press(key);
  await looked(page, "rows that are marked");
  await page.keyboard.press("Delete");
  await over(page, /./, "a removal of what was marked");
}

async function publishing(page, project) {
  await page.goto(`/projects/${project}/pipeline`);
  await page.getByText("Drag a service here, or press A.").waitFor();
  await looked(page, "an empty canvas");
  await press(page, /^Approval$/);
  await page.getByRole("textbox", { name: "Question" }).fill("Shall it?");
  await saved(page);
  await press(page, "Publish with a note");
  await over(page, /with a note$/, "a publication with a note");
  await press(page, "Discard draft");
  await over(page, "Discard your draft?", "a draft that is thrown away");
}

/** Made by its form; the secret stands in a sheet of its own, once. */
async function once(page, path, name, fill) {
  await page.goto(`${path}?add=true`);
  const sheet = page.getByRole("dialog", { name: /^Add a/ });
  await sheet.getByLabel("Name", { exact: true }).fill(name);
  await fill(sheet);
  await page.keyboard.press("Control+Enter");
  const shown = page.getByRole("dialog", { name });
  await shown.getByText(/ is shown only now/).waitFor();
  await over(page, name, `what ${path} shows once`);
}

async function secrets(page, name) {
  await once(page, "/webhooks", name, async (sheet) => {
    await sheet.getByLabel("Address").fill("https://hooks.example.invalid/nullops");
    await sheet.getByLabel("Deployment failed").check();
  });
  await once(page, "/rules", name, async (sheet) => {
    await sheet.getByLabel("Source").selectOption("generic");
    await sheet.getByLabel("Project").selectOption("shop");
    await sheet.getByLabel("Environment").selectOption("qa");
  });
}

async function gone(page, ...paths) {
  for (const path of paths) await send(page, "DELETE", path).catch(() => undefined);
}

export const stories = [
  [
    "axe finds nothing in the sheets that join a machine, publish a pipeline, or show a secret once",
    async ({ page }) => {
      const name = freshName("sheet");
      await signIn(page);
      await makeProject(page, name);
      try {
        await machine(page, name);
        await publishing(page, name);
        await secrets(page, name);
      } finally {
        await gone(page, `/nodes/${name}`, `/webhooks/${name}`, `/rules/${name}`);
        await dropProject(page, name);
      }
    },
  ],
  [
    "axe finds nothing in the questions before something is forgotten, copied or removed",
    async ({ page }) => {
      await signIn(page);
      const project = await waiting(page);
      const name = freshName("asked");
      const body = { name, project, environment: "qa", versions: {} };
      const made = [await send(page, "POST", "/deployments", body)];
      made.push(await send(page, "POST", "/deployments", { ...body, name: `${name}-too` }));
      try {
        await removals(page, made);
      } finally {
        for (const { id } of made) await cleanUp(page, id);
        await gone(page, `/projects/${project}`);
      }
    },
  ],
];
