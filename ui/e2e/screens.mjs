// Each thing that an admin defines has its screen, and on it what defines the thing.
import { freshName, open, same, send, signIn, until } from "./browser.mjs";
import { invite } from "./people.mjs";

const toast = (page, text) => page.locator(".toast", { hasText: text }).waitFor();

/** A screen's form: its sheet is in the address, and has these fields. */
async function form(page, path, title, fields) {
  await page.goto(`${path}?add=true`);
  const sheet = page.getByRole("dialog", { name: title });
  await sheet.waitFor();
  // promise: N-306
  for (const label of fields) await sheet.getByLabel(label).first().waitFor();
  return sheet;
}

/** Where images come from, what people deploy of them, and what a step may be. */
async function parts(page) {
  await form(page, "/registries", "Add a registry", [/^Name/, /^Host/, /^User name/, /^Password/]);
  const service = await form(page, "/services", "Add a service", [
    /^Registry/,
    /^Image/,
    /^Pattern of tags/,
  ]);
  // promise: N-306
  same(
    await service.getByLabel("Version", { exact: true }).locator("option").allInnerTexts(),
    ["People choose a tag when they create", "Always the same tag"],
    "the modes of a service",
  );
  await service.getByLabel("Version", { exact: true }).selectOption({ index: 1 });
  await service.getByLabel(/^Pattern of tags/).waitFor({ state: "detached" });
  await form(page, "/plugins", "Add a plugin", [/^Image/, /^Tag/, /^Parameters, as JSON Schema/]);
}

/** What each list of the demo holds; deployments are in those of other stories. */
const LISTED = [
  ["/projects", "shop"],
  ["/environments", "qa"],
  ["/services", "shop-web"],
  ["/plugins", "wait-for"],
  ["/registries", "local"],
  ["/teams", "testers"],
  ["/nodes", "demo"],
];

/** Every term has its list, and what there is of it is in there. */
async function lists(page) {
  for (const [path, name] of LISTED) {
    await page.goto(path);
    // promise: N-008
    await page.getByRole("main").getByText(name, { exact: true }).first().waitFor();
  }
}

/** What can be a step: a service, a database, a script, a check, and a person's answer. */
const KINDS = [
  ["Services", /^shop-api/],
  ["Services", /^postgres/],
  ["Plugins", /^sql-script/],
  ["Plugins", /^http-check/],
  ["Other", /^Approval/],
];

/** The editor: what can be drawn, and where. */
async function editor(page) {
  await page.goto("/projects/shop/pipeline");
  const palette = page.getByRole("complementary", { name: "Steps to add" });
  // A drawing of many steps has the room of the list, until that is asked for.
  await palette.getByRole("button", { name: "Show the steps to add" }).click();
  // promise: N-306
  await palette.getByRole("region", { name: "Services" }).getByRole("button").first().waitFor();
  // promise: N-045
  for (const [group, name] of KINDS)
    await palette.getByRole("region", { name: group }).getByRole("button", { name }).waitFor();
  // promise: N-306
  await page.locator(".cv .en").first().waitFor();
}

/** An environment's subdomain, with the line that a name server needs for it. */
async function environment(page) {
  const sheet = await form(page, "/environments", "New environment", [/^Name/, /^Domain/]);
  await sheet.getByLabel(/^Name/).fill("lab");
  await sheet.getByLabel(/^Domain/).fill("qa.example.com");
  // promise: N-306
  await sheet.getByText("*.lab.qa.example.com. 300 IN A ADDRESS-OF-THE-INGRESS").waitFor();
  await sheet.getByText(/One wildcard covers every service/).waitFor();
}

/** A team is made, and its access assigned in the grid; its member notices within the same session. */
async function teams(page, theirs) {
  await form(page, "/teams", "New team", [/^Name/, /^Description/]);
  const { viewer } = theirs;
  await page.goto("/teams/access");
  const cell = page.getByRole("button", { name: `${viewer.name} on shop: Read`, exact: true });
  const noneOfIt = async () =>
    theirs.page.evaluate(async () => (await (await fetch("/api/v1/me")).json()).can_create);
  same(await noneOfIt(), false, "whether a viewer may create");
  await cell.click();
  await page.getByRole("menuitemradio", { name: /^Full/ }).click();
  await toast(page, `${viewer.name}: access to shop is changed`);
  // promise: N-306
  await until("a viewer who was given Full may create", noneOfIt);
}

/** Tokens: a node's is given anew and shown once, a user's is made and revoked. */
async function tokens(page) {
  const name = freshName("tokens");
  await send(page, "POST", "/nodes", { name, environment: "qa", address: "127.0.0.1:9" });
  try {
    await page.goto(`/nodes/${name}`);
    await page.getByRole("button", { name: "Rotate token" }).click();
    const asks = page.getByRole("dialog", { name: `Give ${name} a new token?` });
    await asks.getByRole("button", { name: "Rotate token" }).click();
    const line = page.getByRole("dialog", { name: `Run this on ${name}` });
    // promise: N-306
    await line.getByText(/^nopa1_[A-Za-z0-9]{10}_[\w-]{60,}$/).waitFor();
    await line.getByRole("button", { name: "Done" }).click();
  } finally {
    await send(page, "DELETE", `/nodes/${name}`);
  }
  await page.goto("/account");
  const mine = page.getByRole("region", { name: "Tokens" }).last();
  await mine.getByLabel("What for").fill(name);
  await mine.getByRole("button", { name: "Make a token" }).click();
  // promise: N-306
  await mine.getByText("The token is shown only now:").waitFor();
  const row = mine.locator(".row").filter({ hasText: name }).filter({ hasText: "nop_" });
  await row.getByRole("button", { name: "Revoke" }).click();
  const sure = page.getByRole("dialog", { name: `Revoke ${name}?` });
  await sure.getByRole("button", { name: "Revoke" }).click();
  // promise: N-306
  await row.waitFor({ state: "detached" });
}

export const stories = [
  [
    "each of the admin's things has its screen: lists, parts, editor, environment with DNS, teams, access, tokens",
    async ({ page, browser }) => {
      await signIn(page);
      const { viewer, leave } = await invite(page);
      const other = await open(browser);
      try {
        await signIn(other.page, "/deployments", viewer);
        await lists(page);
        await parts(page);
        await editor(page);
        await environment(page);
        await teams(page, { page: other.page, viewer });
        await tokens(page);
      } finally {
        await other.context.close();
        await leave();
      }
    },
  ],
];
