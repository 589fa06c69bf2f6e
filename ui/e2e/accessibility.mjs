// Zero faults of axe-core on every page, a name for each control, nothing that scrolls sideways on a phone. What takes
// minutes to show is in axe.mjs.
import { api, freshName, RUN, signIn, until } from "./browser.mjs";
import { fits, looked, quiet } from "./looks.mjs";
import { cleanUp, create, pill } from "./main.mjs";
import { named } from "./names.mjs";
import { runsToday } from "./part.mjs";

/** Each page that most people see: how to get there, what shows that it is there, what is opened then. */
const main = ({ id, project, environment }, other) => [
  ["list", "/deployments", ".foot"],
  ["list of one environment", "/deployments?env=qa", ".foot"],
  ["list without a match", "/deployments?q=zzz-nothing", ".empty"],
  ["list of what was removed", "/deployments?view=removed", ".lr, .empty"],
  ["create", "/deployments/new", ".sf", opened],
  ["run", `/d/${id}/run`, ".sn"],
  ["time of a run", `/d/${id}/run?view=time`, ".tlpart"],
  ["run beside a good one", `/d/${id}/compare`, ".cmp"],
  ["services", `/d/${id}/services`, ".sr", asked],
  ["history", `/d/${id}/history`, ".tbl td"],
  ["comparison", `/deployments/diff?a=${id}&b=${other}`, ".tbl td, .empty"],
  ["environment", `/environments?open=${environment}`, ".sf", orders],
  ["nodes", "/nodes", ".tbl td", adding],
  ["projects", "/projects", ".tbl td"],
  ["pipeline", `/projects/${project}/pipeline`, ".en, .sn"],
  ["urls", "/urls", ".urlcard, .empty"],
  ["service definitions", "/services", ".tbl td"],
  ["audit", "/audit", "h1"],
  ["start", "/start", ".startstep"],
  ["not found", "/deployments/nowhere/nothing", ".empty"],
];

/** Each run has a seventh of the pages, see part.mjs. */
const isDue = (name) => runsToday(`accessibility of ${name}`);

/** The others: in one theme and by their width here, in both themes by the slow stories. */
const others = ({ id }, node) => [
  ["logs", `/d/${id}/logs`, "[role=log] .ln"],
  ["metrics", `/d/${id}/metrics`, ".chart canvas, .empty"],
  ["terminal", `/d/${id}/terminal`, "button"],
  ["details", `/d/${id}/details`, ".kv"],
  ["capsule", `/d/${id}/capsule`, ".kv, h2"],
  ["node", `/nodes/${node}`, ".kv"],
  ["alerts", "/alerts", "h2"],
  ["fleet", "/fleet", "h2"],
  ["topology", "/topology", ".host"],
  ["environments", "/environments", ".tbl td"],
  ["registries", "/registries", ".tbl td"],
  ["plugins", "/plugins", ".tbl td"],
  ["secrets", "/secrets?project=shop", ".tbl td, .empty"],
  ["templates", "/templates?project=shop", ".tbl td, .empty"],
  ["users", "/users", ".tbl td"],
  ["teams", "/teams", ".tbl td, .empty"],
  ["access", "/teams/access", "table, .empty"],
  ["account", "/account", "h2"],
  ["rules", "/rules", ".tbl td, .empty"],
  ["rules, a new one", "/rules?add=true", ".sf"],
  ["webhooks", "/webhooks", ".tbl td, .empty"],
  ["webhooks, a new one", "/webhooks?add=true", ".sf"],
  ["nodes, a new one", "/nodes?add=true", ".sf"],
  ["keys", "/settings/keys", "h1"],
  ["certificates", "/settings/certificates", "h1"],
  ["cleanup", "/settings/cleanup", "h1"],
  ["backups", "/settings/backups", "h1"],
  ["about", "/settings/about", "h1"],
  ["invitation", "/invitation#a-link", "form"],
  ["reset", "/reset#a-link", "form"],
];

async function reached(page, name, path, sign) {
  await page.goto(path);
  await page.locator(sign).first().waitFor();
  await quiet(page);
  await named(page, name);
}

async function visit(page, deployment) {
  for (const [name, path, sign, more] of main(deployment, await another(page, deployment))) {
    if (!isDue(name)) continue;
    await reached(page, name, path, sign);
    await looked(page, name);
    await fits(page, name, { axe: true });
    await more?.(page);
  }
}

/** Light and dark in turn, so that neither is without its part of these pages. */
async function visitOthers(page, deployment) {
  const { items } = await api(page, "/nodes");
  const node = items.find(({ status }) => status === "online").name;
  for (const [at, [name, path, sign]] of others(deployment, node).entries()) {
    if (!isDue(name)) continue;
    await reached(page, name, path, sign);
    await looked(page, name, [at % 2 ? "dark" : "light"]);
    await fits(page, name);
  }
}

/** One to compare with: what an earlier story has removed, else itself. */
async function another(page, { id }) {
  const { items } = await api(page, "/deployments?removed=true&limit=20");
  return (items.find((one) => one.id !== id) ?? { id }).id;
}

/** How certificates are ordered: folded away until it is asked for, with its most fields. */
async function orders(page) {
  await page.getByText("Certificates from an authority").click();
  await page.getByLabel("Order them").selectOption("dns-01");
  await looked(page, "certificate orders");
}

async function opened(page) {
  await page.locator("button.in[data-step]").first().click();
  await page.getByRole("option").first().waitFor();
  await looked(page, "tag picker");
}

async function asked(page) {
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").waitFor();
  await looked(page, "delete question");
  await page.keyboard.press("Escape");
}

async function adding(page) {
  await page.getByRole("button", { name: "Add node" }).first().click();
  await page.getByRole("dialog", { name: "Add a node" }).waitFor();
  await looked(page, "add node");
}

export const stories = [
  [
    "axe finds nothing on any page, light and dark; each control has a name; a phone never scrolls sideways",
    async ({ page }) => {
      await signIn(page);
      const deployment = await create(page, freshName("axe"));
      try {
        await until("ready", async () => (await pill(page).innerText()) === "Ready", RUN);
        await visit(page, deployment);
        await visitOthers(page, deployment);
      } finally {
        await page.goto("/deployments");
        await cleanUp(page, deployment.id);
      }
    },
  ],
  [
    "axe finds nothing on the sign-in page, light and dark",
    async ({ page }) => {
      await page.goto("/sign-in");
      await page.getByLabel("User name").waitFor();
      await looked(page, "sign-in");
      await fits(page, "sign-in");
    },
  ],
];
