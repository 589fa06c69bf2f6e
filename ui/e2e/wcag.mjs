// The criteria that WCAG 2.2 has beyond 2.1 at levels A and AA, one story each, named after it. axe looks for what
// a machine finds on one page; these look at what a person does on several.
import { api, check, freshName, picture, same, signIn, until } from "./browser.mjs";
import { dropProject, makeProject, node } from "./editor.mjs";

/** Pages with what covers most: bars that stay, sheets, tables with heads that stay, the editor. */
const PAGES = [
  "/deployments",
  "/deployments/new",
  "/teams/access",
  "/nodes",
  "/audit",
  "/services",
];

/** Whether anything of the element with the focus can be seen, and what covers it. */
function covered() {
  const one = document.activeElement;
  if (!one || one === document.body) return null;
  const { left, top, right, bottom, width, height } = one.getBoundingClientRect();
  if (width === 0 || height === 0) return null;
  const inset = Math.min(3, width / 3, height / 3);
  const points = [
    [left + inset, top + inset],
    [right - inset, top + inset],
    [left + inset, bottom - inset],
    [right - inset, bottom - inset],
    [(left + right) / 2, (top + bottom) / 2],
  ];
  const shown = points.some(([x, y]) => {
    const there = document.elementFromPoint(x, y);
    return there && (one.contains(there) || there.contains(one));
  });
  if (shown) return null;
  return one.getAttribute("aria-label") ?? one.textContent.trim().slice(0, 40);
}

/** What is read late takes the focus from the sheet that waits for it, never to the page behind. */
async function focusOfLateSheet(page) {
  const slow = (route) => setTimeout(() => void route.continue(), 500);
  await page.route("**/api/v1/environments", slow);
  await page.goto("/deployments/new");
  const sheet = page.getByRole("dialog");
  await sheet.waitFor();
  await sheet.getByRole("button", { name: "Close" }).focus();
  await sheet.getByLabel("Project").waitFor();
  // The focus is given back a moment after a sheet has gone.
  await page.waitForTimeout(100);
  const inside = await sheet.evaluate((one) => one.contains(document.activeElement));
  check(inside, "the focus is behind the sheet that was waited for");
  await page.unroute("**/api/v1/environments", slow);
}

async function focusNotObscured({ page }) {
  await page.setViewportSize({ width: 1024, height: 600 });
  for (const path of PAGES) {
    await page.goto(path);
    await page.locator("h1").first().waitFor();
    await until("it is read", async () => (await page.locator("[aria-busy=true]").count()) === 0);
    for (const key of ["Tab", "Shift+Tab"])
      for (let stop = 0; stop < 40; stop++) {
        await page.keyboard.press(key);
        const hidden = await page.evaluate(covered);
        check(!hidden, `on ${path}, what has the focus is covered: ${hidden}`);
      }
  }
  await focusOfLateSheet(page);
}

/** Each thing that is dragged, done without: steps added, moved, connected; the map and the zoom. */
async function dragging({ page }) {
  const project = freshName("drags");
  await makeProject(page, project);
  try {
    await page.goto(`/projects/${project}/pipeline`);
    await page.getByText("Drag a service here, or press A.").waitFor();
    const palette = page.getByRole("complementary", { name: "Steps to add" });
    await palette.getByRole("button", { name: "Approval", exact: true }).click();
    await node(page, "approval").waitFor();
    await palette.getByRole("button", { name: "Script", exact: true }).click();
    await node(page, "script").waitFor();
    const place = async () => {
      const { content } = await api(page, `/projects/${project}/draft`).catch(() => ({}));
      return content?.steps?.find(({ key }) => key === "script")?.position;
    };
    const before = await until("it is saved", place);
    await page.keyboard.press("ArrowDown");
    await until("a step is moved without a drag", async () => (await place()).y > before.y);
    const others = page.getByRole("combobox", { name: "Wait for another step…" });
    // Its options are made when somebody is at it.
    await others.focus();
    await others.selectOption("approval");
    const line = page.locator('.react-flow__edge[data-id="order|approval||script"]');
    await line.waitFor({ state: "attached" });
    // By single presses alone: the plus of a port connects what it adds.
    await node(page, "script").locator('[data-handleid="after"]').click();
    await page.getByRole("dialog").getByRole("button", { name: "Job", exact: true }).click();
    await page
      .locator('.react-flow__edge[data-id="order|script||job"]')
      .waitFor({ state: "attached" });
    await page.getByRole("button", { name: "Zoom out" }).click();
    await page.getByRole("button", { name: /^Fit/ }).click();
  } finally {
    await dropProject(page, project);
  }
}

/**
 * Targets smaller than 24 px, where no circle of 24 px around them touches another's. In a sentence, of the
 * browser's own making, and where another control does the same, any size is allowed: the ports of a step are
 * the fields of the inspector, and its list of what it waits for.
 */
function smallTargets() {
  const all = [
    ...document.querySelectorAll("a[href], button, input, select, textarea, summary, [role=tab]"),
  ]
    .filter((one) => one.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
    .filter((one) => !one.closest("[aria-hidden=true], .vh, p, .react-flow__handle"))
    .map((one) => ({
      one: one.closest("label") ?? one,
      box: (one.closest("label") ?? one).getBoundingClientRect(),
    }))
    .filter(({ box }) => box.width > 1 && box.height > 1);
  const centre = ({ left, top, width, height }) => [left + width / 2, top + height / 2];
  const apart = (box, [x, y]) =>
    Math.hypot(Math.max(box.left - x, 0, x - box.right), Math.max(box.top - y, 0, y - box.bottom));
  return all.flatMap(({ one, box }) => {
    if (box.width >= 23.5 && box.height >= 23.5) return [];
    const at = centre(box);
    const near = all.find((other) => {
      if (other.one === one || other.one.contains(one) || one.contains(other.one)) return false;
      const small = other.box.width < 23.5 || other.box.height < 23.5;
      const [x, y] = centre(other.box);
      return small ? Math.hypot(x - at[0], y - at[1]) < 24 : apart(other.box, at) < 12;
    });
    const name = (of) => of.getAttribute("aria-label") ?? of.textContent.trim().slice(0, 30);
    return near
      ? [
          `${name(one)} (${Math.round(box.width)} × ${Math.round(box.height)}) beside ${name(near.one)}`,
        ]
      : [];
  });
}

async function targetSize({ page }) {
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 900 });
    for (const path of [...PAGES, "/projects/shop/pipeline", "/account", "/start"]) {
      await page.goto(path);
      await page.locator("h1").first().waitFor();
      await until("it is read", async () => (await page.locator("[aria-busy=true]").count()) === 0);
      const small = await page.evaluate(smallTargets);
      same(small, [], `targets too small on ${path} at ${width}`);
    }
  }
}

/** Help is in one place of every page: the key that lists the keys, and the search for everything. */
async function consistentHelp({ page }) {
  const places = new Set();
  // Help that is still loading is left like help that is there.
  await page.route("**/assets/Shortcuts-*.js", (route) =>
    setTimeout(() => void route.continue(), 1000),
  );
  for (const path of PAGES.filter((one) => one !== "/deployments/new")) {
    await page.goto(path);
    await page.locator("h1").first().waitFor();
    const jump = page.getByRole("navigation").getByRole("button", { name: /^Jump to/ });
    await jump.waitFor();
    places.add(
      await jump.evaluate((one) => {
        const { left, top } = one.getBoundingClientRect();
        const all = [...document.querySelectorAll("a, button")];
        return `${Math.round(left)} ${Math.round(top)} ${all.indexOf(one)}`;
      }),
    );
    await page.locator("body").press("?");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  }
  same(places.size, 1, "places of the way to help");
}

/** What was typed once is not asked for again: a clone has its source's values, a refusal keeps what is there. */
async function redundantEntry({ page }) {
  await page.goto("/deployments/new");
  const sheet = page.getByRole("dialog", { name: "New deployment" });
  await sheet.getByLabel("Name").fill("Not_A_Name");
  await sheet.getByRole("button", { name: /^Create deployment/ }).click();
  await until(
    "it is refused",
    async () => (await sheet.getByLabel("Name").getAttribute("aria-invalid")) === "true",
  );
  same(await sheet.getByLabel("Name").inputValue(), "Not_A_Name", "the name after a refusal");
  // A project's page leads to its pipeline and deployments with the project filled in.
  await page.goto("/deployments/new?project=shop&env=qa");
  const filled = () =>
    sheet.evaluate((one) =>
      [
        one.innerText,
        ...[...one.querySelectorAll("input, select")].map((field) => field.value),
      ].join(" "),
    );
  await until("project and environment are filled in", async () => {
    const text = await filled();
    return /shop/.test(text) && /qa/.test(text);
  });
}

/** No puzzle, no memory: names and passwords can be pasted and filled in by a manager. */
async function accessibleAuthentication({ page, browser }) {
  const context = await browser.newContext({ baseURL: new URL(page.url()).origin });
  const fresh = await context.newPage();
  try {
    await fresh.goto("/sign-in");
    const [name, word] = [fresh.getByLabel("User name"), fresh.getByLabel("Password")];
    await name.waitFor();
    same(await name.getAttribute("autocomplete"), "username", "the user name for managers");
    same(await word.getAttribute("autocomplete"), "current-password", "the password for managers");
    for (const field of [name, word]) {
      await field.evaluate((one) => {
        const data = new DataTransfer();
        data.setData("text/plain", "pasted");
        const event = new ClipboardEvent("paste", {
          clipboardData: data,
          bubbles: true,
          cancelable: true,
        });
        if (one.dispatchEvent(event)) one.setRangeText("pasted");
      });
      same(await field.inputValue(), "pasted", "what was pasted");
    }
    same(await fresh.locator("canvas, iframe, img[alt*=captcha i]").count(), 0, "puzzles");
    await picture(fresh, "wcag-sign-in");
  } finally {
    await context.close();
  }
}

const signedIn = (story) => async (given) => {
  await signIn(given.page);
  await story(given);
};

export const stories = [
  ["WCAG 2.4.11 focus not obscured", signedIn(focusNotObscured)],
  ["WCAG 2.5.7 dragging movements", signedIn(dragging)],
  ["WCAG 2.5.8 target size", signedIn(targetSize)],
  ["WCAG 3.2.6 consistent help", signedIn(consistentHelp)],
  ["WCAG 3.3.7 redundant entry", signedIn(redundantEntry)],
  ["WCAG 3.3.8 accessible authentication", signedIn(accessibleAuthentication)],
];
