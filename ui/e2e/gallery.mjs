// Zero faults of axe-core in the gallery, which shows every component in every state, light beside dark.
// It is a page of the development server, which runs here for the story, without a control plane.
import { readFile } from "node:fs/promises";
import { createServer } from "vite";
import { check, picture, until } from "./browser.mjs";

const root = new URL("..", import.meta.url).pathname;
/** What the gallery has twice or out of order because it is one: both themes, and all at once. */
const TWICE = ["duplicate-id-aria", "heading-order", "landmark-unique", "region"];

async function faults(page) {
  const path = new URL("../node_modules/axe-core/axe.min.js", import.meta.url);
  await page.evaluate(await readFile(path, "utf8"));
  return page.evaluate(async (off) => {
    const rules = Object.fromEntries(off.map((rule) => [rule, { enabled: false }]));
    const { violations } = await window.axe.run(document, { preload: false, rules });
    return violations.map(({ id, nodes }) =>
      [id, ...nodes.slice(0, 4).map((node) => node.html.slice(0, 200))].join("\n      "),
    );
  }, TWICE);
}

async function faultless(page, where) {
  // Fades are over, colours are final.
  await page.waitForTimeout(300);
  const found = await faults(page);
  check(found.length === 0, `${where}: ${found.join("\n    ")}`);
}

/** What lies over the page: opened by its button, closed by Escape. */
const over = [
  ["Open a sheet", "dialog"],
  ["Open a sheet that meets a conflict", "dialog"],
  ["Ask before a deletion", "dialog"],
  ["Open the palette", "dialog"],
  ["Open the list of keys", "dialog"],
];

async function opens(page) {
  for (const [button, role] of over) {
    await page.getByRole("button", { name: button, exact: true }).click();
    await page.getByRole(role).waitFor();
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await faultless(page, `${button}, ${colorScheme}`);
    }
    await page.keyboard.press("Escape");
    await page.getByRole(role).waitFor({ state: "detached" });
  }
  await page.getByRole("button", { name: "Say a result" }).click();
  await page.getByRole("button", { name: "Say a failure" }).click();
  await page.locator(".toast").nth(1).waitFor();
  await faultless(page, "toasts");
}

/** A picker that is open: with tags, with none, and while they are read. */
async function picks(page) {
  const light = page.getByRole("region", { name: "Light" });
  for (const step of ["chosen", "refused", "being read"]) {
    await light.getByRole("button", { name: new RegExp(`^Version of ${step}`) }).click();
    await page.getByRole("dialog").waitFor();
    await faultless(page, `a picker, ${step}`);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  }
}

export const stories = [
  [
    "axe finds nothing in the gallery, which shows every component in every state",
    async ({ page }) => {
      const server = await createServer({
        root,
        logLevel: "silent",
        server: { port: 0, hmr: false },
      });
      try {
        await server.listen();
        const asked = [];
        page.on("request", (request) => {
          if (new URL(request.url()).pathname.startsWith("/api/")) asked.push(request.url());
        });
        await page.goto(`${server.resolvedUrls.local[0]}components`);
        const charts = page.locator(".chart canvas");
        await until("everything is drawn", async () => (await charts.count()) === 6);
        await faultless(page, "the gallery");
        await picture(page, "gallery");
        await picks(page);
        await opens(page);
        check(asked.length === 0, `the gallery asked a server: ${asked}`);
      } finally {
        await server.close();
      }
    },
  ],
];
