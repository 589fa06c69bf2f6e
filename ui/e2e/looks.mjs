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
 * What a thumb can hardly press, what makes a phone magnify the page around it, and what cannot be
 * read to its end: buttons below their measure, any target below 24 px, fields with text below 16 px,
 * and text outside of the window that nothing scrolls to.
 */
export function hardOnPhones() {
  const shown = (one) =>
    one.checkVisibility({ visibilityProperty: true, opacityProperty: true }) &&
    !one.closest(".vh, [aria-hidden=true], .react-flow, .xterm, .log, [inert]");
  const name = (one) => one.getAttribute("aria-label") ?? one.textContent.trim().slice(0, 30);
  const size = ({ width, height }) => `${Math.round(width)} × ${Math.round(height)}`;
  const low = [...document.querySelectorAll(".btn")].filter(shown).flatMap((one) => {
    const box = one.getBoundingClientRect();
    const least = one.classList.contains("sm") ? 36 : 44;
    return Math.min(box.height, one.classList.contains("ic") ? box.width : least) < least - 0.5
      ? [`the button “${name(one)}” is ${size(box)}`]
      : [];
  });
  // Links within text are as high as their line; a box with a label is pressed with it.
  const tiny = [
    ...document.querySelectorAll("a, button, select, summary, [role=button], [role=tab]"),
  ]
    .filter(shown)
    .filter((one) => getComputedStyle(one).display !== "inline")
    .flatMap((one) => {
      const box = one.getBoundingClientRect();
      return Math.min(box.width, box.height) < 23.5 ? [`“${name(one)}” is ${size(box)}`] : [];
    });
  const small = [...document.querySelectorAll("input, select, textarea")]
    .filter(shown)
    .filter((one) => !/checkbox|radio|range|file/.test(one.type))
    .filter((one) => Number.parseFloat(getComputedStyle(one).fontSize) < 16)
    .map((one) => `the text of the field “${name(one) || one.id}” is small`);
  const scrolls = (one) =>
    one && one !== document.body
      ? getComputedStyle(one).overflowX !== "visible" || scrolls(one.parentElement)
      : false;
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const outside = [];
  while (texts.nextNode()) {
    const { nodeValue, parentElement: parent } = texts.currentNode;
    if (!nodeValue.trim() || !shown(parent)) continue;
    const range = document.createRange();
    range.selectNodeContents(texts.currentNode);
    const { left, right, width } = range.getBoundingClientRect();
    if (width > 0 && (right > innerWidth + 1 || left < -1) && !scrolls(parent))
      outside.push(`“${nodeValue.trim().slice(0, 30)}” is outside of the window`);
  }
  return [...low, ...tiny, ...small, ...outside];
}

/**
 * As a phone shows it: nothing is wider than the window, and all can be read, pressed and filled in.
 * The window is left as it was.
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
