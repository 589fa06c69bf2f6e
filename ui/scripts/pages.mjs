// Every page beyond the main job's, in both themes and both widths, as small pictures: part of `make screenshots`.
//
// By itself: node scripts/pages.mjs FOLDER [--png] [NAME...], only the pages of these names, with
// NULLOPS_TEST_URL, _USER and _PASSWORD as the other script has them. It needs two deployments.
import { mkdirSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { api, launch, open, password, send, signIn } from "../e2e/browser.mjs";
import { furnish } from "./furnish.mjs";

const SIZES = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
];

/** What is there to be shown: names of things defined, and two deployments. */
async function shown(page) {
  const { items: services } = await api(page, "/services");
  const { items: plugins } = await api(page, "/plugins");
  const { items: nodes } = await api(page, "/nodes");
  const { items: deployments } = await api(page, "/deployments?limit=20");
  const ready = deployments.find((one) => one.status === "ready");
  if (!ready) throw new Error("the pictures need a deployment that is ready; make one first");
  return {
    service: (services.find((one) => one.tag_mode === "selectable") ?? services[0]).name,
    plugin: plugins[0].name,
    node: nodes[0].name,
    id: ready.id,
    other: deployments.find((one) => one.id !== ready.id && !one.question)?.id ?? ready.id,
    asks: deployments.find((one) => one.question)?.id ?? ready.id,
    url: ready.services.find((one) => one.url)?.url,
    name: ready.name,
    failed: deployments.find((one) => one.status === "failed")?.name ?? "nobody",
  };
}

/** The name of a picture, its address, and what is done there before it is taken; that may give back what undoes it. */
function pages({ service, plugin, node, id, other, asks }) {
  return [
    ["urls", "/urls"],
    ["start", "/start"],
    ["create", "/deployments/new?project=shop"],
    ["run", `/d/${id}/run`],
    ["approval", `/d/${asks}/run`],
    ["services-tab", `/d/${id}/services`],
    ["logs", `/d/${id}/logs`, allWritten],
    ["metrics", `/d/${id}/metrics`, charted],
    ["terminal", `/d/${id}/terminal`, typed],
    ["capsule", `/d/${id}/capsule`],
    ["history", `/d/${id}/history`],
    ["compare", `/deployments/diff?a=${id}&b=${other}`],
    ["projects", "/projects"],
    ["editor", "/projects/shop/pipeline"],
    ["merge", "/projects/loyalty/pipeline", merging],
    ["environments", "/environments"],
    ["environment", "/environments?open=qa"],
    ["fleet", "/fleet", charted],
    ["topology", "/topology"],
    ["nodes", "/nodes"],
    ["node", `/nodes/${node}`],
    ["services", "/services"],
    ["service", `/services?open=${service}`],
    ["plugins", "/plugins"],
    ["plugin", `/plugins?open=${plugin}`],
    ["registries", "/registries"],
    ["secrets", "/secrets"],
    ["templates", "/templates"],
    ["template", "/templates?project=shop&open=release-check"],
    ["users", "/users"],
    ["teams", "/teams"],
    ["access", "/teams/access"],
    ["account", "/account"],
    ["audit", "/audit"],
    ["usage", "/usage"],
    ["alerts", "/alerts"],
    ["notices", "/notices"],
    ["comments", `/d/${id}/comments`],
    ["rules", "/rules"],
    ["rule", "/rules?open=shop-pull-requests"],
    ["sources", "/sources"],
    ["webhooks", "/webhooks"],
    ["settings", "/settings/keys"],
    ["backups", "/settings/backups"],
    ["certificates", "/settings/certificates"],
    ["cleanup", "/settings/cleanup"],
    ["sign-on", "/settings/sign-on"],
    ["mail", "/settings/mail"],
    ["about", "/settings/about"],
    ["clone", `/deployments/new?from=${id}`],
    ["palette", "/deployments", palette],
    ["not-found", "/deployments/nowhere/nothing"],
    ["invitation", "/invitation#a-link"],
    ["reset", "/reset#a-link"],
  ];
}

/** Seen now and then: one picture wide and light, one narrow and dark. */
function moments({ id, asks, url, name, failed }) {
  const host = (other) => url.replace(`.${name}.`, `.${other}.`);
  return [
    ["details", `/d/${id}/details`],
    ["removed", "/deployments?view=removed"],
    ["node-add", "/nodes?add=true"],
    ["node-ssh", "/nodes?add=true", bySSH],
    ["secrets-empty", "/secrets?project=loyalty"],
    ["templates-empty", "/templates?project=loyalty"],
    ["editor-empty", "/projects/gift-wrapping/pipeline"],
    ["list-empty", "/deployments?q=nothing-is-called-so"],
    ["services-empty", `/d/${asks}/services`],
    // That there is nothing is said once it had the time to come.
    ["logs-empty", `/d/${asks}/logs`, (page) => page.waitForTimeout(3000)],
    ["status-unknown", host("nobody")],
    ["status-failed", host(failed)],
    ["status-about", new URL("/.nullops/", url).href],
    ["status-guest", new URL("/.nullops/guest", url).href],
  ];
}

/** Named for as long as its picture takes. */
async function bySSH(page) {
  const name = "build-2";
  const sheet = page.getByRole("dialog", { name: "Add a node" });
  await sheet.getByLabel("Name").fill(name);
  await sheet.getByLabel("Address").fill("10.20.4.15:5000");
  await sheet.getByRole("button", { name: "Add node" }).click();
  await page.getByRole("button", { name: "Set it up over SSH instead" }).click();
  await page.getByRole("dialog", { name: /SSH/ }).waitFor();
  return async () => {
    // Signing in is longer ago than it counts as a proof.
    await send(page, "POST", "/me/step-up", { password });
    await send(page, "DELETE", `/nodes/${name}`);
  };
}

/** Curves are there, or it is said that there is nothing to draw yet. */
const charted = (page) => page.locator(".chart canvas, .empty").first().waitFor();

/** The first lines are there, and those that were on their way with them. */
async function allWritten(page) {
  await page.locator("[role=log] .ln").first().waitFor();
  await page.waitForTimeout(2000);
}

/** Below 720 the pipeline is only read, and there is nothing to put together. */
async function merging(page) {
  if (page.viewportSize().width < 720) return;
  await page.getByRole("button", { name: "Look at it" }).click();
  await page.getByRole("dialog").waitFor();
}

async function palette(page) {
  await page.keyboard.press("Control+k");
  await page.getByRole("option").first().waitFor();
}

async function typed(page) {
  await page.getByRole("button", { name: "Open terminal" }).click();
  await page.locator(".xterm-helper-textarea").waitFor({ state: "attached" });
  await page.waitForTimeout(1500);
  // A service need not have more than a shell.
  await page.keyboard.type("echo /*; pwd\n");
  await page.waitForTimeout(1000);
}

/** One picture, when all that was on its way is there. */
async function take(page, path, act, file) {
  await page.goto(path);
  await page.getByRole("heading", { level: 1 }).first().waitFor();
  await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
  const undo = await act?.(page);
  await page.evaluate(() => document.fonts.ready);
  await page.waitForTimeout(500);
  const small = file.endsWith(".png") ? {} : { type: "jpeg", quality: 50 };
  await page.screenshot({ path: file, ...small });
  await undo?.();
}

/** Photographs the pages of a signed-in window into a folder: all, or those of some names. */
export async function photograph(page, folder, { names = [], type = "jpg" } = {}) {
  mkdirSync(folder, { recursive: true });
  await furnish(page);
  const there = await shown(page);
  const wanted = ([name]) => names.length === 0 || names.includes(name);
  const [always, sometimes] = [pages(there).filter(wanted), moments(there).filter(wanted)];
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    for (const [at, size] of SIZES.entries()) {
      await page.setViewportSize(size);
      const few = (colorScheme === "light") === (at === 0) ? sometimes : [];
      for (const [name, path, act] of [...always, ...few])
        await take(page, path, act, `${folder}/${name}-${size.width}-${colorScheme}.${type}`);
    }
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [folder, ...rest] = process.argv.slice(2);
  if (!folder) throw new Error("say which folder the pictures go to");
  const browser = await launch();
  try {
    const { page } = await open(browser);
    await signIn(page);
    await photograph(page, folder, {
      names: rest.filter((one) => one !== "--png"),
      type: rest.includes("--png") ? "png" : "jpg",
    });
  } finally {
    await browser.close();
  }
}
