// The interface in languages that nobody wrote: all that is read comes from the catalogue, or from the server; longer
// words and a script from right to left leave each page usable.
import { createReadStream } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { createServer, request } from "node:http";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { ACCENTS, buildMadeUp, RIGHT_TO_LEFT } from "../scripts/madeUpLocale.mjs";
import { accessible, base, check, open, password, picture, until, user } from "./browser.mjs";
import { findCrowded } from "./crowded.mjs";

const TYPES = {
  ".css": "text/css",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

/** Serves a build in front of the real server, which answers everything else. */
async function serve(folder) {
  const server = createServer(async (req, res) => {
    const { pathname } = new URL(req.url, "http://localhost");
    if (pathname.startsWith("/api/")) return forward(req, res);
    const file = join(folder, pathname);
    const found = await stat(file).then(
      (one) => one.isFile(),
      () => false,
    );
    const path = found ? file : join(folder, "index.html");
    res.writeHead(200, { "Content-Type": TYPES[extname(path)] ?? "application/octet-stream" });
    createReadStream(path).pipe(res);
  });
  await new Promise((done) => server.listen(0, "localhost", done));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://localhost:${server.address().port}`, close };
}

function forward(req, res) {
  const { host } = new URL(base);
  const headers = { ...req.headers, host, ...(req.headers.origin ? { origin: base } : {}) };
  const asked = request(new URL(req.url, base), { method: req.method, headers }, (answer) => {
    res.writeHead(answer.statusCode, answer.headers);
    answer.pipe(res);
  });
  asked.on("error", () => res.destroy());
  req.pipe(asked);
}

/** Tells a story in a build of its own, in a window that has it. */
const inLocale =
  (locale, story) =>
  async ({ browser }) => {
    const folder = await mkdtemp(join(tmpdir(), "nullops-locale-"));
    let served;
    let window;
    try {
      await buildMadeUp(locale, folder);
      served = await serve(folder);
      window = await open(browser, { baseURL: served.url });
      await story(window.page);
    } finally {
      await window?.context.close();
      served?.close();
      await rm(folder, { recursive: true, force: true });
    }
  };

/** Every page of the sidebar, what they open, and the sheets with most words. */
const PAGES = [
  "/deployments",
  "/deployments/new",
  "/urls",
  "/projects",
  "/projects?add=true",
  "/projects/shop/pipeline",
  "/templates",
  "/environments",
  "/environments?add=true",
  "/nodes",
  "/nodes?add=true",
  "/services",
  "/services?add=true",
  "/plugins",
  "/plugins?open=http-check",
  "/registries",
  "/registries?add=true",
  "/secrets?project=shop",
  "/users",
  "/users?add=true",
  "/teams",
  "/teams?add=true",
  "/teams/access",
  "/audit",
  "/rules",
  "/rules?add=true",
  "/sources",
  "/sources?add=true",
  "/webhooks",
  "/webhooks?add=true",
  "/fleet",
  "/topology",
  "/usage",
  "/alerts",
  "/notices",
  "/account",
  "/settings/keys",
  "/settings/sign-on",
  "/settings/mail",
  "/settings/backups",
  "/settings/cleanup",
  "/settings/certificates",
  "/settings/about",
  "/start",
];

async function reach(page, path) {
  await page.goto(path);
  await page.locator("h1").first().waitFor();
  await until("it is read", async () => (await page.locator("[aria-busy=true]").count()) === 0);
}

/** Signs in by what a field is for: nobody knows what it is called here. */
async function enters(page) {
  await page.goto("/sign-in");
  await page.locator("[autocomplete=username]").fill(user);
  await page.locator("[autocomplete=current-password]").fill(password);
  await page.locator("[autocomplete=current-password]").press("Enter");
  await page.locator(".app").waitFor();
}

/** Words in plain letters that people read on the page, and that no answer of the server contains. */
async function plainWords(page, answers) {
  const shown = await page.evaluate(() => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const all = [];
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const parent = node.parentElement;
      if (parent.closest("script, style, noscript, kbd, code, pre, .mono, option, [data-typed]"))
        continue;
      if (!parent.checkVisibility()) continue;
      all.push(node.textContent.trim());
    }
    // Whose library it is that draws, is a name.
    const library = ".react-flow__attribution";
    for (const one of document.querySelectorAll("[aria-label], [placeholder], [title]"))
      for (const name of ["aria-label", "placeholder", "title"])
        if (!one.closest(library)) all.push(one.getAttribute(name) ?? "");
    return all;
  });
  const said = answers.join("\n");
  // An address that is an example is the same in every language.
  const read = shown.map((text) => text.replace(/\S*\bexample\.org\S*/g, ""));
  const words = read.flatMap((text) => text.match(/[A-Za-z]{4,}/g) ?? []);
  return [...new Set(words)].filter((word) => !said.includes(word) && !KEYS.has(word));
}

/** Keys and the product's name are the same in every language. */
const KEYS = new Set(["Ctrl", "Shift", "Enter", "Escape", "NullOps", "Docker", "React", "Flow"]);

async function accents(page) {
  const answers = [];
  page.on("response", (response) => {
    if (new URL(response.url()).pathname.startsWith("/api/"))
      response.text().then(
        (text) => answers.push(text),
        () => undefined,
      );
  });
  await enters(page);
  for (const path of PAGES) {
    await reach(page, path);
    answers.push(decodeURIComponent(page.url()));
    const plain = await plainWords(page, answers);
    if (plain.length > 0) faults.push(`words of ${path} that are in no catalogue: ${plain}`);
    await fits(page, path, "accents");
  }
  uncrowded();
}

/** At 1440 and on a phone, no text is cut off, lies on another, or is outside of the window. */
async function fits(page, path, name) {
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 900 });
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
    await until("it is read", async () => (await page.locator("[aria-busy=true]").count()) === 0);
    const wide = () => document.documentElement.scrollWidth - window.innerWidth;
    const over = await page.evaluate(wide);
    if (over > 0) faults.push(`${path} at ${width}: ${over} px too wide`);
    for (const one of await page.evaluate(findCrowded)) faults.push(`${path} at ${width}: ${one}`);
    await picture(page, `${name}${path.replaceAll(/\W+/g, "-")}-${width}`);
  }
  await page.setViewportSize({ width: 1440, height: 900 });
}

/** What was found on all pages: one that is crowded does not hide the next. */
const faults = [];
function uncrowded() {
  const all = [...new Set(faults.splice(0))];
  check(all.length === 0, `${all.length} faults:\n    ${all.join("\n    ")}`);
}

async function rightToLeft(page) {
  await enters(page);
  for (const path of PAGES) {
    await reach(page, path);
    const side = await page.locator("nav.side").boundingBox();
    check(side.x > 720, `the sidebar of ${path} is on the left`);
    await accessible(page, `${path} from right to left`);
    await fits(page, path, "rtl");
  }
  uncrowded();
}

export const stories = [
  [
    "a made-up language: all that is read comes from the catalogue, and fits",
    inLocale(ACCENTS, accents),
  ],
  [
    "a made-up language from right to left: pages are mirrored, and fit",
    inLocale(RIGHT_TO_LEFT, rightToLeft),
  ],
];
