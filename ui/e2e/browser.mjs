// The browser under test, and what every story needs of it.
import { mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { chromium } from "playwright-core";

const flags = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export const base = (process.env.NULLOPS_TEST_URL ?? "").replace(/\/$/, "");
export const user = process.env.NULLOPS_TEST_USER ?? "";
export const password = process.env.NULLOPS_TEST_PASSWORD ?? "";
const pictures = process.env.NULLOPS_TEST_SCREENSHOTS;

/** How long a deployment may take from create to ready, in ms: images may have to be pulled first. */
export const RUN = Number(process.env.NULLOPS_TEST_RUN_MS ?? 300_000);

/** Starts Chromium with a profile of its own, which goes with it. */
export function launch() {
  return chromium.launch({ executablePath: "/usr/bin/chromium", args: flags });
}

/** What went wrong in any page of the run, apart from what a story asserts. */
export const trouble = [];

/** A window of its own: no cookie, no storage of another story. */
export async function open(browser, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    baseURL: base,
    ...options,
  });
  // Generous: a machine that runs everything else too is slow, and no story measures time.
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  page.on("pageerror", (error) => trouble.push(`${page.url()}: ${error.message}`));
  page.on("console", (message) => {
    const text = message.text();
    // What a hostile mail in a sandboxed frame was kept from is written there too.
    const framed = /\/mails\/\d+\/page/.test(message.location().url + text);
    if (framed || text.includes("\"default-src 'none'\"")) return;
    // A refused or broken request is written to the console by the browser; stories cause some.
    if (message.type() === "error" && !text.startsWith("Failed to load resource"))
      trouble.push(`${page.url()}: ${text}`);
  });
  const [goto, reload] = [page.goto.bind(page), page.reload.bind(page)];
  const whole = (ask) => unchanged(ask).then((got) => begun(page, got, reload));
  page.goto = (url, more) => whole(() => goto(url, more));
  page.reload = (more) => whole(() => reload(more));
  return { context, page };
}

/**
 * Loads a page of ours again that has not begun: the same network changes also drop its scripts, and
 * then it stays empty for ever.
 */
async function begun(page, response, reload) {
  let got = response;
  for (let left = 3; left > 0; left--) {
    const empty = () =>
      page.evaluate(() => document.querySelector("#root")?.childElementCount === 0);
    const end = Date.now() + 20_000;
    while (await empty().catch(() => false)) {
      if (Date.now() > end) break;
      await page.waitForTimeout(100);
    }
    if (!(await empty().catch(() => false))) break;
    got = await unchanged(() => reload());
  }
  return got;
}

/**
 * Tries again when Chromium drops a request because a network interface came or went: deployments
 * make and remove bridges on this very machine all the time.
 */
async function unchanged(ask) {
  for (let left = 3; ; left--) {
    try {
      return await ask();
    } catch (error) {
      if (left === 0 || !/ERR_NETWORK_CHANGED|Failed to fetch/.test(error.message)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}

export async function signIn(page, path = "/deployments", as = { name: user, password }) {
  await page.goto(path);
  await page.getByLabel("User name").fill(as.name);
  await page.getByLabel("Password").fill(as.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.locator(".app").waitFor();
}

export function check(claim, message) {
  if (!claim) throw new Error(message);
}

export function same(got, wanted, what) {
  const [a, b] = [JSON.stringify(got), JSON.stringify(wanted)];
  check(a === b, `${what}: got ${a}, wanted ${b}`);
}

/** Asks until the answer is true, at most `limit` ms; says what it waited for when it was not. */
export async function until(what, ask, limit = 60_000) {
  const end = Date.now() + limit;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() > end) throw new Error(`${what}: not within ${limit / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** A GET of the API with the page's own session. */
export async function api(page, path) {
  const get = async (url) => {
    const response = await fetch(url);
    if (!response.ok) throw new Error(`${url} answered ${response.status}`);
    return response.json();
  };
  return unchanged(() => page.evaluate(get, `/api/v1${path}`));
}

/** Changes something by the API with the page's own session; an answer that is no success fails. */
export async function send(page, method, path, body) {
  const ask = async ([url, how, what]) => {
    const headers = { "Content-Type": "application/json" };
    const response = await fetch(url, { method: how, headers, body: JSON.stringify(what) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${how} ${url} answered ${response.status}: ${text}`);
    return text ? JSON.parse(text) : undefined;
  };
  return unchanged(() => page.evaluate(ask, [`/api/v1${path}`, method, body]));
}

/**
 * Tests and pictures share their machine with everything else: that its processors are in use keeps
 * no node of theirs from taking a deployment.
 */
export async function useBusyNodes(page) {
  const { items } = await api(page, "/environments");
  for (const { name, domain, description, restricted, placement, capacity } of items) {
    const counted = { ...capacity, busy_cpu_percent: 100 };
    const body = { domain, description, restricted, placement, capacity: counted };
    await send(page, "PUT", `/environments/${name}`, body);
  }
}

/** Until fades are over and colours final, however long a busy machine takes for that. */
export async function settled(page) {
  await page.evaluate(async () => {
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    for (let i = 0; i < 20; i++) {
      await frame();
      await frame();
      // What is folded away fades only once it is shown: nobody can wait for that.
      const fades = document
        .getAnimations()
        .filter((one) => one instanceof CSSTransition && one.effect.target.checkVisibility());
      if (fades.length === 0) return;
      await Promise.allSettled(fades.map((one) => one.finished));
    }
  });
}

let axe;
/** Fails on any accessibility fault of the page as it is now. */
export async function accessible(page, where) {
  axe ??= await readFile(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
  await page.evaluate(axe);
  await settled(page);
  const faults = await page.evaluate(async () => {
    const { violations } = await window.axe.run(document, {
      preload: false,
      resultTypes: ["violations"],
    });
    return violations.map(
      (fault) =>
        `${fault.id}: ${fault.nodes
          .slice(0, 3)
          .map((node) => node.html.slice(0, 160))
          .join(" | ")}`,
    );
  });
  check(faults.length === 0, `${where}: ${faults.join("\n    ")}`);
}

/** A picture into the folder of NULLOPS_TEST_SCREENSHOTS, when that is set. */
export async function picture(page, name) {
  if (!pictures) return;
  mkdirSync(pictures, { recursive: true });
  await page.screenshot({ path: `${pictures}/${name}.png` });
}

/**
 * Cuts a page off the network. Chromium refuses new requests then, but an open stream goes on, and where
 * the browser has told stories before, the page is not told that it is offline: it hears so here.
 */
export async function loseLink(page) {
  await page.context().setOffline(true);
  await page.evaluate(() => window.dispatchEvent(new Event("offline")));
}

/** A deployment name that no earlier run of the tests has used. */
export function freshName(word) {
  return `${word}-${Date.now().toString(36)}`;
}
