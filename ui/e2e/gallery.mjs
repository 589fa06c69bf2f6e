// Zero faults of axe-core in the gallery, which shows every component in every state, light beside dark.
// It is a page of the development server, which runs here for the story, without a control plane.
import { readFile } from "node:fs/promises";
import { createServer } from "vite";
import { check, picture, settled, until } from "./browser.mjs";

const root = new URL("..", import.meta.url).pathname;
/** What the whole gallery has twice or out of order because it is one: both themes, and all at once. */
const TWICE = ["duplicate-id-aria", "heading-order", "landmark-unique", "region"];
const THEMES = ["light", "dark"];

/** What axe finds in a part of the page; of the whole page it leaves out what is there twice. */
async function faults(page, part) {
  const path = new URL("../node_modules/axe-core/axe.min.js", import.meta.url);
  await page.evaluate(await readFile(path, "utf8"));
  const off = part ? [] : TWICE;
  return page.evaluate(
    async ({ off, part }) => {
      const rules = Object.fromEntries(off.map((rule) => [rule, { enabled: false }]));
      const where = part ? { include: [[part]] } : document;
      const { violations } = await window.axe.run(where, { preload: false, rules });
      return violations.map(({ id, nodes }) =>
        [id, ...nodes.slice(0, 4).map((node) => node.html.slice(0, 200))].join("\n      "),
      );
    },
    { off, part },
  );
}

/** In both themes; fades are over and colours final when axe looks. */
async function faultless(page, where, part) {
  for (const colorScheme of THEMES) {
    await page.emulateMedia({ colorScheme });
    await settled(page);
    const found = await faults(page, part);
    check(found.length === 0, `${where}, ${colorScheme}: ${found.join("\n    ")}`);
    await picture(page, `gallery-${where.replaceAll(/\W+/g, "-")}-${colorScheme}`);
  }
}

const OPEN = "[role=dialog]";

/** What lies over the page: opened by its button, closed by Escape; and what refuses it, pressed before. */
const over = [
  ["Open a sheet", "[type=submit]", ".er"],
  ["Open a sheet that meets a conflict", "[type=submit]", ".box"],
  ["Ask before a deletion"],
  ["Ask, and be refused: in use", ".danger", "li"],
  ["Ask for a typed name"],
  ["Open the palette"],
  ["Open the list of keys"],
];

async function opens(page) {
  for (const [name, press, sign] of over) {
    await page.getByRole("button", { name, exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    if (press) {
      await dialog.locator(press).click();
      await dialog.locator(sign).first().waitFor();
    }
    await faultless(page, name, OPEN);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  }
}

/** A sheet that was changed asks before it closes: one dialog over another. */
async function nests(page) {
  await page.getByRole("button", { name: /^Open a sheet that was changed/ }).click();
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Stay" }).waitFor();
  await faultless(page, "a sheet with changes, asked", `${OPEN}.dialog`);
  await page.keyboard.press("Escape");
  await page.locator(".dialog").waitFor({ state: "detached" });
  await page.keyboard.press("Escape");
  await page.locator(".dialog button.danger").click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
}

async function says(page) {
  for (const name of ["Say a result", "Say a result that can be taken back", "Say a failure"])
    await page.getByRole("button", { name, exact: true }).click();
  await page.locator(".toast").nth(2).waitFor();
  await faultless(page, "toasts", ".toasts");
}

/** Two builds of a branch differ at their ends: these are in sight however narrow the column is. */
async function ends(page) {
  const hidden = await page.locator("[role=row] .chip .tail").evaluateAll(
    (all) =>
      all.filter((tail) => {
        const box = tail.closest(".chip").getBoundingClientRect();
        return tail.getBoundingClientRect().right > box.right;
      }).length,
  );
  check(hidden === 0, `the ends of ${hidden} tags are cut off`);
}

/** A picker that is open: with tags, with none, while they are read, and when nothing matches. */
async function picks(page) {
  const light = page.getByRole("region", { name: "Light" });
  for (const step of ["chosen", "refused", "being read"]) {
    await light.getByRole("button", { name: new RegExp(`^Version of ${step}`) }).click();
    await page.getByRole("dialog").waitFor();
    await faultless(page, `a picker, ${step}`, OPEN);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  }
  await light.getByRole("button", { name: /^Version of chosen/ }).click();
  await page.getByRole("dialog").getByRole("combobox").fill("nowhere");
  await page
    .getByText(/nowhere/)
    .first()
    .waitFor();
  await faultless(page, "a picker, no match", OPEN);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
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
        await until("the curves are drawn", async () => (await charts.count()) === 6);
        const canvases = page.locator(".cv .react-flow__node");
        await until("the editor's parts are drawn", async () => (await canvases.count()) > 0);
        await faultless(page, "everything");
        await ends(page);
        await picks(page);
        await opens(page);
        await nests(page);
        await says(page);
        check(asked.length === 0, `the gallery asked a server: ${asked}`);
      } finally {
        await server.close();
      }
    },
  ],
];
