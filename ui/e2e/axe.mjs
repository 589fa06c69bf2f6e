// Zero faults of axe-core on the pages of what is defined, on pages without their data, and on a deployment's own.
import {
  accessible,
  api,
  check,
  freshName,
  picture,
  RUN,
  signIn,
  until,
  user,
} from "./browser.mjs";
import { cleanUp, create } from "./main.mjs";

const THEMES = ["light", "dark"];

/** What is shown now, in both themes; fades are over and colours final when axe looks. */
async function inBoth(page, name) {
  await until("it is not busy", async () => (await page.locator("[aria-busy=true]").count()) === 0);
  for (const theme of THEMES) {
    await page.emulateMedia({ colorScheme: theme });
    await page.waitForTimeout(300);
    await accessible(page, `${name}, ${theme}`);
    await picture(page, `${name.replaceAll(/\W+/g, "-")}-${theme}`);
  }
}

/** What is defined, who may what, and what belongs to the installation or to oneself. */
const defined = [
  "/environments",
  "/environments?add=true",
  "/registries",
  "/registries?add=true",
  "/services",
  "/services?add=true",
  "/plugins",
  "/plugins?add=true",
  "/plugins?open=http-check",
  "/secrets?project=shop",
  "/secrets?project=shop&add=true",
  "/projects?add=true",
  "/users",
  "/users?add=true",
  `/users?open=${user}`,
  "/teams",
  "/teams?add=true",
  "/teams?open=testers",
  "/teams/access",
  "/templates",
  "/alerts",
  "/fleet",
  "/topology",
  "/account",
  "/audit",
  "/rules",
  "/webhooks",
  "/settings/keys",
  "/settings/certificates",
  "/settings/sign-on",
  "/settings/mail",
  "/settings/cleanup",
  "/settings/backups",
  "/settings/about",
  "/start",
  "/urls",
  "/invitation",
  "/invitation#a-link",
  "/reset#a-link",
];

/** Pages, and what each asks for; the rest of the API answers them as ever. */
const asking = [
  ["/deployments", "**/api/v1/deployments?**"],
  ["/urls", "**/api/v1/deployments?**"],
  ["/nodes", "**/api/v1/nodes?**"],
  ["/services", "**/api/v1/services?**"],
  ["/plugins", "**/api/v1/plugins?**"],
  ["/projects", "**/api/v1/projects?**"],
  ["/environments", "**/api/v1/environments?**"],
  ["/registries", "**/api/v1/registries?**"],
  ["/users", "**/api/v1/users?**"],
  ["/teams", "**/api/v1/teams?**"],
  ["/rules", "**/api/v1/rules?**"],
  ["/webhooks", "**/api/v1/webhooks?**"],
  ["/audit", "**/api/v1/audit?**"],
];

const PHONE = { width: 390, height: 844 };

/** In both themes, and as a phone shows it: there nothing may be wider than the window. */
async function anywhere(page, name) {
  await inBoth(page, name);
  const wide = page.viewportSize();
  await page.setViewportSize(PHONE);
  await page.waitForTimeout(300);
  const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  check(over <= 0, `${name} is ${over} px too wide on a phone`);
  await accessible(page, `${name}, on a phone`);
  await picture(page, `${name.replaceAll(/\W+/g, "-")}-390`);
  await page.setViewportSize(wide);
}

/** A page whose data is slow, cannot be had, or is none. */
async function states(page) {
  for (const [path, asks] of asking) {
    let answer = () => undefined;
    const held = new Promise((done) => {
      answer = done;
    });
    await page.route(asks, async (route) => {
      await held;
      const json = { type: "about:blank", title: "It broke.", status: 500, code: "broken" };
      await route.fulfill({ status: 500, json: { ...json, request_id: "a-request" } });
    });
    await page.goto(path);
    await page.locator("[aria-busy=true]").first().waitFor();
    for (const theme of THEMES) {
      await page.emulateMedia({ colorScheme: theme });
      await page.waitForTimeout(300);
      await accessible(page, `${path} while it is read, ${theme}`);
    }
    answer();
    await page.getByText("request a-request").first().waitFor();
    await anywhere(page, `${path} that could not be read`);
    await page.unroute(asks);
    await page.route(asks, (route) => route.fulfill({ json: { items: [] } }));
    await page.goto(path);
    await page.locator(".empty").first().waitFor();
    await anywhere(page, `${path} with nothing in it`);
    await page.unroute(asks);
  }
}

/** The tabs of a deployment that show what it does, each with what shows that it is there. */
const tabs = [
  ["logs", (page) => page.locator("[role=log] .ln").first()],
  ["metrics", (page) => page.locator(".chart canvas, .empty").first()],
  ["terminal", (page) => page.locator(".xterm-helper-textarea")],
  ["capsule", (page) => page.getByRole("heading", { name: /^Bug capsule of/ })],
];

async function live(page, { id }) {
  for (const [tab, sign] of tabs) {
    await page.goto(`/d/${id}/${tab}`);
    if (tab === "terminal") await page.getByRole("button", { name: "Open terminal" }).click();
    await sign(page).waitFor({ state: "attached", timeout: RUN });
    await inBoth(page, `${tab} of a deployment`);
  }
}

export const stories = [
  [
    "axe finds nothing on the pages of what is defined",
    async ({ page }) => {
      await signIn(page);
      for (const path of defined) {
        await page.goto(path);
        await page.locator("h1").first().waitFor();
        await inBoth(page, path);
      }
    },
  ],
  [
    "axe finds nothing on pages while they are read, when they cannot be, and with nothing in them",
    async ({ page }) => {
      await signIn(page);
      await states(page);
    },
  ],
  [
    "axe finds nothing on a deployment's logs, metrics, terminal and capsule",
    async ({ page }) => {
      await signIn(page);
      const made = await create(page, freshName("seen"));
      try {
        const read = () => api(page, `/deployments/${made.id}`);
        await until("ready", async () => (await read()).status === "ready", RUN);
        await live(page, made);
      } finally {
        await cleanUp(page, made.id);
      }
    },
  ],
];
