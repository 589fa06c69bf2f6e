// Every page beyond the main job's, in both themes and both widths, as small pictures: part of `make screenshots`.
//
// By itself: node scripts/pages.mjs FOLDER, with NULLOPS_TEST_URL, _USER and _PASSWORD as the other script has them.
import { mkdirSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { api, launch, open, signIn } from "../e2e/browser.mjs";

const SIZES = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
];

/** The name of a picture, the address, and the heading that shows that the page is there. */
function pages(service, plugin) {
  return [
    ["urls", "/urls"],
    ["start", "/start"],
    ["projects", "/projects"],
    ["environment", "/environments?open=qa"],
    ["nodes", "/nodes"],
    ["services", "/services"],
    ["service", `/services?open=${service}`],
    ["plugin", `/plugins?open=${plugin}`],
    ["registries", "/registries"],
    ["secrets", "/secrets"],
    ["users", "/users"],
    ["teams", "/teams"],
    ["audit", "/audit"],
    ["settings", "/settings/keys"],
  ];
}

/** Photographs the pages of a signed-in window into a folder. */
export async function photograph(page, folder) {
  mkdirSync(folder, { recursive: true });
  const { items: services } = await api(page, "/services");
  const { items: plugins } = await api(page, "/plugins");
  const chosen = services.find((one) => one.tag_mode === "selectable") ?? services[0];
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    for (const size of SIZES) {
      await page.setViewportSize(size);
      for (const [name, path] of pages(chosen.name, plugins[0].name)) {
        await page.goto(path);
        await page.getByRole("heading", { level: 1 }).first().waitFor();
        await page.locator(".body[aria-busy=true]").waitFor({ state: "detached" });
        await page.evaluate(() => document.fonts.ready);
        await page.waitForTimeout(500);
        const file = `${folder}/${name}-${size.width}-${colorScheme}.jpg`;
        await page.screenshot({ path: file, type: "jpeg", quality: 50 });
      }
    }
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const folder = process.argv[2];
  if (!folder) throw new Error("say which folder the pictures go to");
  const browser = await launch();
  try {
    const { page } = await open(browser);
    await signIn(page);
    await photograph(page, folder);
  } finally {
    await browser.close();
  }
}
