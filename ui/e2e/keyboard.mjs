// Main paths without a mouse: every act below is a key, nothing is clicked or focused by the test.
import { api, freshName, same, send, signIn, until } from "./browser.mjs";
import { dropProject, makeProject, node } from "./editor.mjs";

/** Goes on by Tab until the focus is on what is called so; no page here has more stops. */
async function tabTo(page, role, name) {
  const wanted = page.getByRole(role, { name, exact: true }).first();
  await wanted.waitFor();
  for (let stops = 0; stops < 80; stops++) {
    if (await wanted.evaluate((one) => one === document.activeElement)) return wanted;
    await page.keyboard.press("Tab");
  }
  throw new Error(`${role} ${name} is not reached by Tab`);
}

async function press(page, role, name) {
  await tabTo(page, role, name);
  await page.keyboard.press("Enter");
}

async function write(page, name, text) {
  await tabTo(page, "textbox", name);
  await page.keyboard.press("Control+a");
  await page.keyboard.type(text);
}

const toast = (page, text) => page.locator(".toast", { hasText: text }).waitFor();

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
    await page.keyboard.press("Escape");
  }
  // What was added last is what is connected.
  await until("the list of steps to connect to has the focus", async () => {
    await page.keyboard.press("p");
    return page.evaluate(() => document.activeElement?.matches("[data-connect]"));
  });
  await page.keyboard.type("postgres");
  await page
    .locator('.react-flow__edge[data-id="order|postgres||shop-web"]')
    .waitFor({ state: "attached" });
  await page.keyboard.press("Escape");
  await until("it is published", async () => {
    await page.keyboard.press("Control+Enter");
    return (await api(page, `/projects/${project}`)).pipeline_version === 1;
  });
}

export const stories = [
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
