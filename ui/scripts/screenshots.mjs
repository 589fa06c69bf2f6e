// Pictures of the real product for docs/screenshots: `make screenshots`.
//
// Usage: node scripts/screenshots.mjs FOLDER
//
// NULLOPS_TEST_URL, _USER and _PASSWORD name a running product with the example shop applied and a
// node online; `tools/run demo` gives both. What is seen was really created.
import { mkdirSync } from "node:fs";
import { api, launch, open, signIn, until, useBusyNodes } from "../e2e/browser.mjs";
import { node } from "../e2e/editor.mjs";
import { photograph } from "./pages.mjs";

const folder = process.argv[2];
if (!folder) throw new Error("say which folder the pictures go to");
mkdirSync(folder, { recursive: true });

const WIDE = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };

async function create(page, name, versions) {
  const made = await page.evaluate(
    async (body) => {
      const response = await fetch("/api/v1/deployments", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body),
      });
      return response.json();
    },
    { name, project: "shop", environment: "qa", versions },
  );
  if (!made.id) throw new Error(`${name} was not created: ${JSON.stringify(made)}`);
  return made;
}

const settled = (page, id, ...wanted) =>
  until(
    `${id} settled`,
    async () => {
      const { status } = await api(page, `/deployments/${id}`);
      return wanted.includes(status);
    },
    180_000,
  );

async function shot(page, name) {
  await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
  // Fonts and the last change are drawn by then; nothing else moves.
  await page.evaluate(() => document.fonts.ready);
  await page.waitForTimeout(600);
  await page.screenshot({ path: `${folder}/${name}.png` });
}

/** A run that goes on meanwhile, wide and on a phone; the window is left wide and light. */
async function running(page) {
  await shot(page, "run-light");
  await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
  await shot(page, "run-dark");
  await page.setViewportSize(PHONE);
  await shot(page, "run-390-dark");
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  await shot(page, "run-390-light");
  await page.setViewportSize(WIDE);
}

async function tour(page, run, theme) {
  await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
  await page.setViewportSize(WIDE);
  await page.goto("/deployments");
  await page.getByText(run.name).first().waitFor();
  await shot(page, `deployments-${theme}`);
  await page.goto("/deployments/qa/gift-cards-refund/services");
  await page.getByRole("heading", { name: "gift-cards-refund" }).waitFor();
  await shot(page, `deployment-${theme}`);
  await page.goto("/deployments/qa/checkout-retry");
  await page.getByRole("heading", { name: "checkout-retry" }).waitFor();
  await shot(page, `failed-${theme}`);
  await page.goto("/deployments/new");
  await page.getByLabel("Name").fill("cart-redesign-2");
  await page.getByRole("button", { name: /web/i }).last().click();
  await shot(page, `create-${theme}`);
  await page.setViewportSize(PHONE);
  await page.goto("/deployments");
  await page.getByText(run.name).first().waitFor();
  await shot(page, `deployments-390-${theme}`);
  await page.goto("/deployments/qa/checkout-retry");
  await page.getByRole("heading", { name: "checkout-retry" }).waitFor();
  await shot(page, `failed-390-${theme}`);
}

/** What everybody sees first; the window is left wide and light. */
async function door(page) {
  for (const colorScheme of ["dark", "light"]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    for (const size of [PHONE, WIDE]) {
      await page.setViewportSize(size);
      await page.goto("/");
      await page.getByLabel("User name").waitFor();
      await shot(page, `sign-in${size === PHONE ? "-390" : ""}-${colorScheme}`);
    }
  }
}

const browser = await launch();
try {
  const { page } = await open(browser);
  await door(page);
  await signIn(page);
  await useBusyNodes(page);
  const ready = await create(page, "gift-cards-refund", { web: "main-3f2a1bc" });
  await settled(page, ready.id, "ready");
  const failed = await create(page, "checkout-retry", { web: "fix-checkout-0badf00" });
  await settled(page, failed.id, "failed");
  const run = await create(page, "cart-redesign", { web: "feat-cart-redesign-51d0e7b" });
  await page.goto(`/d/${run.id}`);
  await until(
    "the first step of the run",
    async () => {
      const { steps_done } = await api(page, `/deployments/${run.id}`);
      return steps_done >= 1;
    },
    120_000,
  );
  await running(page);
  await settled(page, run.id, "ready");
  await tour(page, run, "light");
  await tour(page, run, "dark");
  await page.setViewportSize(WIDE);
  await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
  await page.goto("/projects/shop/pipeline?step=api");
  await node(page, "api").waitFor();
  // The chosen step is in the middle; a little farther, so that its neighbours are whole.
  await page.getByRole("button", { name: "Zoom out" }).click();
  await page.waitForTimeout(500);
  await shot(page, "project-dark");
  await until(
    "something was measured",
    async () => {
      const { series } = await api(page, `/deployments/${run.id}/metrics`);
      return series.some(({ points }) => points.length > 3);
    },
    180_000,
  );
  await photograph(page, `${folder}/pages`);
} finally {
  await browser.close();
}
