// What an admin defines, through the pages: registries, services, secrets, audit; with the keyboard where it counts.
import { readFile } from "node:fs/promises";
import { accessible, api, check, freshName, picture, send, signIn, until } from "./browser.mjs";

const toast = (page, text) => page.locator(".toast", { hasText: text }).waitFor();

/** Goes somewhere by the palette, as people do who keep their hands on the keys. */
async function jump(page, words, heading) {
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: /^Jump to/ }).fill(words);
  await page.getByRole("option", { name: words }).first().waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
}

/** Fades are over and colours final when axe looks. */
async function faultless(page, where) {
  await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
  await page.waitForTimeout(250);
  await accessible(page, where);
  await picture(page, where.replaceAll(" ", "-"));
}

async function registry(page) {
  await jump(page, "Registries", "Registries");
  await faultless(page, "registries");
  const { items } = await api(page, "/services");
  await page.getByRole("link", { name: items[0].registry, exact: true }).click();
  const sheet = page.getByRole("dialog", { name: items[0].registry });
  await sheet.getByRole("button", { name: "Test" }).click();
  await sheet.getByText("It answers and accepts the credentials").waitFor();
  await faultless(page, "a registry");
  await page.keyboard.press("Escape");
  await sheet.waitFor({ state: "detached" });
  return items[0];
}

async function service(page, like) {
  await page.keyboard.press("g");
  await page.keyboard.press("s");
  await page.getByRole("heading", { name: "Services", level: 1 }).waitFor();
  await page.keyboard.press("n");
  const sheet = page.getByRole("dialog", { name: "Add a service" });
  const name = freshName("svc");
  await sheet.getByLabel("Name").fill("Not A Name");
  await sheet.getByText("Use small letters, digits and hyphens").waitFor();
  await sheet.getByLabel("Name").fill(name);
  await sheet.getByLabel("Registry").selectOption(like.registry);
  await sheet.getByRole("textbox", { name: "Image" }).fill(like.image);
  await sheet.getByText(/\d+ of \d+ tags? match/).waitFor();
  await sheet.getByLabel("Pattern of tags").fill("zzz-*");
  // promise: I-05
  await sheet.getByText("No tag matches").waitFor();
  await faultless(page, "a service with live matches");
  await sheet.getByLabel("Pattern of tags").fill("");
  await page.keyboard.press("Control+Enter");
  await toast(page, `${name} is created`);
  await page.getByRole("link", { name, exact: true }).click();
  check(
    new URL(page.url()).searchParams.get("open") === name,
    "the address does not hold the entry",
  );
  await page.reload();
  const opened = page.getByRole("dialog", { name });
  await opened.getByRole("button", { name: "Delete" }).click();
  await page
    .getByRole("dialog", { name: `Delete ${name}?` })
    .getByRole("button", { name: "Delete" })
    .click();
  await toast(page, `${name} is deleted`);
}

async function refused(page, like) {
  await page.goto(`/services?open=${like.name}`);
  await page
    .getByRole("dialog", { name: like.name })
    .getByRole("button", { name: "Delete" })
    .click();
  const asks = page.getByRole("dialog", { name: `Delete ${like.name}?` });
  await asks.getByRole("button", { name: "Delete" }).click();
  const said = page.getByRole("dialog", { name: /it is in use/ });
  await said.waitFor();
  check((await said.locator("li").count()) > 0, "nobody is named as its user");
  await faultless(page, "a deletion refused");
}

/** What the name server has to be told, for an environment that is being made. */
async function wildcard(page) {
  await page.goto("/environments?add=true");
  const sheet = page.getByRole("dialog", { name: "New environment" });
  await sheet.getByLabel("Name").fill("staging");
  await sheet.getByLabel("Domain").fill("lab.example.com");
  // promise: N-182
  await sheet.getByText("*.staging.lab.example.com. 300 IN A", { exact: false }).waitFor();
  await sheet.getByRole("button", { name: /the line/ }).waitFor();
  await faultless(page, "an environment with its line for the name server");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Leave", exact: true }).click();
  await sheet.waitFor({ state: "detached" });
}

async function secret(page) {
  const { items } = await api(page, "/projects");
  await page.goto(`/secrets?project=${items[0].name}&add=true`);
  const value = `canary-${Date.now().toString(36)}`;
  const sheet = page.getByRole("dialog", { name: "Set a secret" });
  await sheet.getByLabel("Name").fill("E2E_SECRET");
  await sheet.getByRole("textbox", { name: "Value" }).fill(value);
  await page.keyboard.press("Control+Enter");
  await toast(page, "E2E_SECRET is set");
  await page.getByRole("link", { name: "E2E_SECRET" }).click();
  await page.getByRole("dialog", { name: /E2E_SECRET/ }).waitFor();
  check(!(await page.content()).includes(value), "the page holds the value");
  await faultless(page, "a secret");
  await page.getByRole("button", { name: "Delete" }).click();
  await page
    .getByRole("dialog", { name: "Delete E2E_SECRET?" })
    .getByRole("button", { name: "Delete" })
    .click();
  await toast(page, "E2E_SECRET is deleted");
}

/** A node's token is made on the page, is the node's from then on, and is shown this once. */
async function token(page) {
  await page.goto("/nodes?add=true");
  const name = freshName("node");
  const sheet = page.getByRole("dialog", { name: "Add a node" });
  await sheet.getByLabel("Name").fill(name);
  await sheet.getByLabel("Address").fill("127.0.0.1:9");
  await sheet.getByRole("button", { name: "Add node" }).click();
  const line = page.getByRole("dialog", { name: `Run this on ${name}` });
  await line.waitFor();
  const made = /nopa1_([A-Za-z0-9]{10})_[\w-]{60,}/.exec(await line.innerText());
  const { token_kid } = await api(page, `/nodes/${name}`);
  // promise: V-11
  check(made && token_kid === made[1], `the node's token is ${token_kid}, not the one shown`);
  await line.getByRole("button", { name: "Done" }).click();
  await page.getByRole("link", { name, exact: true }).click();
  await page.getByRole("heading", { name, level: 1 }).waitFor();
  check(!(await page.content()).includes(made[0]), "the page shows the token again");
  await send(page, "DELETE", `/nodes/${name}`);
}

async function audit(page) {
  await page.goto("/audit?what=delete+service&result=refused");
  await page
    .getByRole("button", { name: /^Deleted service/ })
    .first()
    .click();
  await page.getByText("Place in the chain").waitFor();
  await page.getByText(/^session /).waitFor();
  await page.keyboard.press("Enter");
  await page.getByText("Place in the chain").waitFor({ state: "detached" });
  await page.getByText("The chain has not been checked in this tab yet.").waitFor();
  await page.getByRole("button", { name: "Check the chain" }).click();
  await page.getByText(/^Chain whole, checked \d+:\d\d/).waitFor();
  await faultless(page, "audit");
  const arrives = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export" }).click();
  await page.getByRole("menuitem", { name: "CSV" }).click();
  const file = await readFile(await (await arrives).path(), "utf8");
  check(/^id,seq,at,actor/.test(file), `the exported file begins with ${file.slice(0, 40)}`);
  check(/,delete service,/.test(file), "the exported file lacks what the page shows");
}

/** The rest: each page as it opens, in the theme that the other story of faults has not seen it in. */
const others = [
  ["/environments", "Environments"],
  ["/plugins", "Plugins"],
  ["/settings/keys", "Settings"],
  ["/settings/certificates", "Settings"],
  ["/settings/cleanup", "Settings"],
  ["/start", "Your first deployment"],
  ["/urls", "URLs"],
];

export const stories = [
  [
    "an admin: palette, registry test, service with live matches, refused deletion, secret, node token, audit",
    async ({ page }) => {
      await signIn(page);
      const like = await registry(page);
      await service(page, like);
      await refused(page, like);
      await wildcard(page);
      await secret(page);
      await token(page);
      await audit(page);
      await page.emulateMedia({ colorScheme: "dark" });
      for (const [path, heading] of others) {
        await page.goto(path);
        await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
        await faultless(page, `${path.slice(1).replace("/", " ")} dark`);
      }
      await page.keyboard.press("Shift+?");
      await page.getByRole("dialog", { name: "Keys" }).waitFor();
      await faultless(page, "keys");
      await until("the sheet is closed", async () => {
        await page.keyboard.press("Escape");
        return (await page.getByRole("dialog").count()) === 0;
      });
    },
  ],
];
