// How a page is looked at: by axe in both themes, and by its width on a phone.
import { accessible, check, picture, until } from "./browser.mjs";

const THEMES = ["light", "dark"];
export const PHONE = { width: 390, height: 844 };

const file = (name) => name.replaceAll(/\W+/g, "-").replace(/^-|-$/g, "");

/** Nothing of it is still being read. */
export async function quiet(page) {
  await until("it is not busy", async () => (await page.locator("[aria-busy=true]").count()) === 0);
}

/** What is shown now, in one theme or both. `accessible` waits until fades are over and colours final. */
export async function looked(page, name, themes = THEMES) {
  await quiet(page);
  for (const colorScheme of themes) {
    await page.emulateMedia({ colorScheme });
    await accessible(page, `${name}, ${colorScheme}`);
    await picture(page, `${file(name)}-${colorScheme}`);
  }
}

/** As a phone shows it: nothing is wider than the window; the window is left as it was. */
export async function fits(page, name, { axe = false } = {}) {
  const wide = page.viewportSize();
  await page.setViewportSize(PHONE);
  // What is drawn by its measured size follows a frame later.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
  await quiet(page);
  const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  check(over <= 0, `${name} is ${over} px too wide on a phone`);
  if (axe) await accessible(page, `${name}, on a phone`);
  await picture(page, `${file(name)}-390`);
  await page.setViewportSize(wide);
}
