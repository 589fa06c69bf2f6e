// Zero faults of axe-core on every page, in both themes; nothing scrolls sideways on a phone.
import { accessible, api, check, freshName, picture, RUN, signIn, until } from "./browser.mjs";
import { cleanUp, create, pill } from "./main.mjs";

/** Each page and state: how to get there, and what shows that it is there. */
const pages = ({ id: deployment, project, environment }, other, node) => [
  ["list", "/deployments", ".foot"],
  ["list without a match", "/deployments?q=zzz-nothing", ".empty"],
  ["list of what was removed", "/deployments?view=removed", ".lr, .empty"],
  ["create", "/deployments/new", ".sf"],
  ["run", `/d/${deployment}/run`, ".sn"],
  ["services", `/d/${deployment}/services`, ".sr"],
  ["history", `/d/${deployment}/history`, ".tbl td"],
  ["comparison", `/deployments/diff?a=${deployment}&b=${other}`, ".tbl td, .empty"],
  ["environment", `/environments?open=${environment}`, ".sf"],
  ["nodes", "/nodes", ".tbl td"],
  ["node", `/nodes/${node}`, ".kv"],
  ["projects", "/projects", ".tbl td"],
  ["pipeline", `/projects/${project}/pipeline`, ".en, .sn"],
  ["rules, a new one", "/rules?add=true", ".sf"],
  ["nodes, a new one", "/nodes?add=true", ".sf"],
  ["webhooks, a new one", "/webhooks?add=true", ".sf"],
  ["not found", "/deployments/nowhere/nothing", ".empty"],
];

async function visit(page, deployment, theme) {
  const { items } = await api(page, "/nodes");
  for (const [name, path, sign] of pages(
    deployment,
    await another(page, deployment),
    items[0].name,
  )) {
    await page.goto(path);
    await page.locator(sign).first().waitFor();
    await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
    // Fades are over, colours are final.
    await page.waitForTimeout(300);
    await accessible(page, `${name}, ${theme}`);
    await picture(page, `${name.replaceAll(" ", "-")}-${theme}`);
    if (name === "create") await opened(page, theme);
    if (name === "services") await asked(page, theme);
    if (name === "environment") await orders(page, theme);
    if (name === "nodes") await adding(page, theme);
  }
}

/** One to compare with: what an earlier story has removed, else itself. */
async function another(page, { id }) {
  const { items } = await api(page, "/deployments?removed=true&limit=20");
  return (items.find((one) => one.id !== id) ?? { id }).id;
}

/** How certificates are ordered: folded away until it is asked for, with its most fields. */
async function orders(page, theme) {
  await page.getByText("Certificates from an authority").click();
  await page.getByLabel("Order them").selectOption("dns-01");
  await page.waitForTimeout(300);
  await accessible(page, `certificate orders, ${theme}`);
  await picture(page, `certificate-orders-${theme}`);
}

async function opened(page, theme) {
  await page.locator("button.in[data-step]").first().click();
  await page.getByRole("option").first().waitFor();
  await page.waitForTimeout(300);
  await accessible(page, `tag picker, ${theme}`);
}

async function asked(page, theme) {
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").waitFor();
  await page.waitForTimeout(300);
  await accessible(page, `delete question, ${theme}`);
  await page.keyboard.press("Escape");
}

async function adding(page, theme) {
  await page.getByRole("button", { name: "Add node" }).first().click();
  await page.getByRole("dialog", { name: "Add a node" }).waitFor();
  await page.waitForTimeout(300);
  await accessible(page, `add node, ${theme}`);
}

export const stories = [
  [
    "axe finds nothing on any page, light and dark; a phone never scrolls sideways",
    async ({ page, browser }) => {
      await signIn(page);
      const deployment = await create(page, freshName("axe"));
      await until("ready", async () => (await pill(page).innerText()) === "Ready", RUN);
      for (const theme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme: theme });
        await visit(page, deployment, theme);
      }
      await phone(browser, deployment);
      await cleanUp(page, deployment.id);
    },
  ],
  [
    "axe finds nothing on the sign-in page, light and dark",
    async ({ page }) => {
      for (const theme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme: theme });
        await page.goto("/sign-in");
        await page.getByLabel("User name").waitFor();
        await accessible(page, `sign-in, ${theme}`);
        await picture(page, `sign-in-${theme}`);
      }
    },
  ],
];

async function phone(browser, deployment) {
  const { open } = await import("./browser.mjs");
  const { context, page } = await open(browser, { viewport: { width: 390, height: 844 } });
  await signIn(page);
  for (const path of [
    "/deployments",
    "/deployments?env=qa",
    "/deployments/new",
    `/d/${deployment.id}/run`,
    `/d/${deployment.id}/services`,
    `/deployments/diff?a=${deployment.id}&b=${await another(page, deployment)}`,
    `/environments?open=${deployment.environment}`,
    "/nodes",
    "/projects",
    "/urls",
    "/services",
    "/audit",
    "/rules?add=true",
    "/start",
  ]) {
    await page.goto(path);
    await page.locator("h1").first().waitFor({ state: "attached" });
    await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
    await page.waitForTimeout(300);
    const wide = await page.evaluate(
      () => document.documentElement.scrollWidth - window.innerWidth,
    );
    check(wide <= 0, `${path} is ${wide} px too wide on a phone`);
    await accessible(page, `${path} on a phone`);
    await picture(
      page,
      `phone${path.replace(deployment.id, "x").replace(/\?.*/, "").replaceAll("/", "-")}`,
    );
  }
  await context.close();
}
