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

/**
 * What a thumb can hardly press, and what makes a phone magnify the page around it: buttons below
 * their measure, and fields with text below 16 px.
 */
function hardOnPhones() {
  const shown = (one) =>
    one.checkVisibility({ visibilityProperty: true, opacityProperty: true }) &&
    !one.closest(".vh, [aria-hidden=true], .react-flow, .xterm");
  const name = (one) => one.getAttribute("aria-label") ?? one.textContent.trim().slice(0, 30);
  const low = [...document.querySelectorAll(".btn")].filter(shown).flatMap((one) => {
    const { width, height } = one.getBoundingClientRect();
    const least = one.classList.contains("sm") ? 36 : 44;
    const size = `${Math.round(width)} × ${Math.round(height)}`;
    return Math.min(height, one.classList.contains("ic") ? width : least) < least - 0.5
      ? [`the button “${name(one)}” is ${size}`]
      : [];
  });
  const small = [...document.querySelectorAll("input, select, textarea")]
    .filter(shown)
    .filter((one) => !/checkbox|radio|range|file/.test(one.type))
    .filter((one) => Number.parseFloat(getComputedStyle(one).fontSize) < 16)
    .map((one) => `the text of the field “${name(one) || one.id}” is small`);
  return [...low, ...small];
}

/**
 * As a phone shows it: nothing is wider than the window, and all can be pressed and filled in. The
 * window is left as it was.
 */
export async function fits(page, name, { axe = false } = {}) {
  const wide = page.viewportSize();
  await page.setViewportSize(PHONE);
  // What is drawn by its measured size follows a frame later.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
  await quiet(page);
  const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  check(over <= 0, `${name} is ${over} px too wide on a phone`);
  const hard = await page.evaluate(hardOnPhones);
  check(hard.length === 0, `${name} on a phone: ${hard.join("; ")}`);
  if (axe) await accessible(page, `${name}, on a phone`);
  await picture(page, `${file(name)}-390`);
  await page.setViewportSize(wide);
}
