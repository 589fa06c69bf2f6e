// Main paths without a mouse: every act below is a key, nothing is clicked or focused by the test.
import { api, freshName, RUN, same, send, signIn, until } from "./browser.mjs";
import { dropProject, makeProject, node } from "./editor.mjs";
import { cleanUp, pill } from "./main.mjs";

/** Goes on by Tab until the focus is on what is called so; no page here has more stops. */
export async function tabTo(page, role, name, one) {
  const wanted = one ?? page.getByRole(role, { name, exact: true }).first();
  await wanted.waitFor();
  for (let stops = 0; stops < 80; stops++) {
    if (await wanted.evaluate((one) => one === document.activeElement)) return wanted;
    await page.keyboard.press("Tab");
  }
  throw new Error(`${role} ${name} is not reached by Tab`);
}

export async function press(page, role, name, one) {
  await tabTo(page, role, name, one);
  await page.keyboard.press("Enter");
}

export async function write(page, name, text) {
  await tabTo(page, "textbox", name);
  await page.keyboard.press("Control+a");
  await page.keyboard.type(text);
}

export const toast = (page, text) => page.locator(".toast", { hasText: text }).waitFor();

/** An admin's path: to the page by two keys, a service defined, found again, and deleted. */
async function defines(page, like, name) {
  await page.keyboard.press("g");
  await page.keyboard.press("s");
  await page.getByRole("heading", { name: "Services", level: 1 }).waitFor();
  await page.keyboard.press("n");
  const sheet = page.getByRole("dialog", { name: "Add a service" });
  await sheet.waitFor();
  await write(page, "Name", name);
  await tabTo(page, "combobox", "Registry");
  await page.keyboard.type(like.registry);
  await write(page, "Image", like.image);
  await page.keyboard.press("Control+Enter");
  await toast(page, `${name} is created`);
  same((await api(page, `/services/${name}`)).image, like.image, "the image that was typed");
  await page.keyboard.press("/");
  await page.keyboard.type(name);
  await press(page, "link", name);
  await page.getByRole("dialog", { name }).waitFor();
  await press(page, "button", "Delete");
  await page.getByRole("dialog", { name: `Delete ${name}?` }).waitFor();
  await press(page, "button", "Delete");
  await toast(page, `${name} is deleted`);
}

/** An engineer's path through the editor: two steps, the line between them, published. */
async function draws(page, project) {
  await page.goto(`/projects/${project}/pipeline`);
  await page.getByText("Drag a service here, or press A.").waitFor();
  for (const key of ["postgres", "shop-web"]) {
    await page.keyboard.press("a");
    await page.keyboard.type(key);
    await page.keyboard.press("Enter");
    await node(page, key).waitFor();
  }
  // What was added last is what is connected.
  await until("the list of steps to connect to has the focus", async () => {
    await page.keyboard.press("p");
    return page.evaluate(() => document.activeElement?.matches("[data-connect]"));
  });
  // A key opens the list, so that none is taken by accident; then it is chosen as in any other.
  await page.keyboard.press("ArrowDown");
  await page.keyboard.type("postgres");
  await page.keyboard.press("Enter");
  await page
    .locator('.react-flow__edge[data-id="order|postgres||shop-web"]')
    .waitFor({ state: "attached" });
  await page.keyboard.press("Escape");
  await until("it is published", async () => {
    await page.keyboard.press("Control+Enter");
    return (await api(page, `/projects/${project}`)).pipeline_version === 1;
  });
}

/** A project of one service that browsers reach, whose deployments have an end; and one of it. */
async function served(page, project) {
  await send(page, "PUT", `/projects/${project}`, {
    resources: { memory_mib: 512 },
    cleanup_after_hours: 48,
  });
  const service = {
    name: "shop-web",
    env: { API_URL: "http://127.0.0.1:9", SHOP_PLACE: "${{ deployment.name }}" },
    ports: [{ name: "http", port: 8080, expose: true }],
    resources: { memory_mib: 128 },
    ready: { http: { port: 8080, path: "/healthz" } },
  };
  const steps = [{ key: "web", needs: [], service }];
  await send(page, "PUT", `/projects/${project}/pipeline`, { pipeline: { steps } });
  return send(page, "POST", "/deployments", {
    name: freshName("keyed"),
    project,
    environment: "qa",
  });
}

/** An engineer's path with a deployment: found in the list, opened, read, prolonged and deleted. */
async function lives(page, context, { id, name }) {
  await page.goto(`/deployments?q=${name}`);
  await page.getByRole("heading", { name: "Deployments", level: 1 }).waitFor();
  await press(page, "link", name);
  await until("ready", async () => (await pill(page).innerText()) === "Ready", RUN);
  await page.keyboard.press("2");
  const url = page.locator(".sr .u a").first();
  await url.waitFor();
  const tab = context.waitForEvent("page");
  await tabTo(page, "link", await url.innerText(), url);
  await page.keyboard.press("Enter");
  const opened = await tab;
  const says = () => opened.locator("body").innerText();
  await until("its URL answers", async () => (await says().catch(() => "")).includes(name));
  await opened.close();
  await page.keyboard.press("3");
  await page.getByRole("log").locator(".ln").first().waitFor({ timeout: RUN });
  const ends = async () => Date.parse((await api(page, `/deployments/${id}`)).expires_at);
  const before = await ends();
  await page.keyboard.press("e");
  await toast(page, `${name} has its whole time again`);
  await until("it ends later", async () => (await ends()) > before);
  await press(page, "button", "Delete");
  await page.getByRole("dialog", { name: `Delete ${name}?` }).waitFor();
  await press(
    page,
    "button",
    "Delete",
    page.getByRole("dialog").getByRole("button", { name: "Delete" }),
  );
  await until("removed", async () => (await pill(page).innerText()) === "Removed", RUN);
  same((await api(page, `/deployments/${id}`)).status, "removed", "the API's word");
}

export const stories = [
  [
    "only with the keyboard: find a deployment, open its URL, read its log, extend and delete it",
    async ({ page, context }) => {
      const project = freshName("life");
      await signIn(page);
      const made = await served(page, project);
      try {
        await lives(page, context, made);
      } finally {
        await cleanUp(page, made.id);
        await dropProject(page, project);
      }
    },
  ],
  [
    "only with the keyboard: define a service, find and delete it; draw a pipeline and publish it",
    async ({ page }) => {
      const [name, project] = [freshName("typed"), freshName("keyed")];
      await signIn(page);
      await makeProject(page, project);
      try {
        await defines(page, await api(page, "/services/shop-web"), name);
        await draws(page, project);
      } finally {
        await send(page, "DELETE", `/services/${name}`).catch(() => undefined);
        await dropProject(page, project);
      }
    },
  ],
];
