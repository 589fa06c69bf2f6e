// Nothing that cannot be done looks as if it could: every control that a page offers a person is pressed,
// and the server refuses none of them for want of access.
import { api, check, freshName, open, RUN, send, signIn, until } from "./browser.mjs";
import { waiting } from "./life.mjs";
import { cleanUp, create } from "./main.mjs";
import { invite } from "./people.mjs";

/** What would end the story or leaves the page: not a question of access. */
const APART = /sign out|light|dark|^end|menu|jump|close|back|full screen/i;
const CONTROLS = ["button", "[role=menuitem]", "input[type=checkbox]"]
  .map((one) => `${one}:not(:disabled):not([aria-disabled=true]):visible`)
  .join(", ");

/** The names of what can be pressed in a part of the page, each once: rows repeat theirs. */
async function names(part) {
  const all = await part.locator(CONTROLS).evaluateAll((found) =>
    found.map((one) => {
      const label = one.labels?.[0]?.textContent;
      return (one.getAttribute("aria-label") ?? label ?? one.textContent ?? "").trim();
    }),
  );
  return [...new Set(all)].filter((name) => name && !APART.test(name));
}

async function press(part, name) {
  const control = part.locator(CONTROLS).filter({ visible: true });
  const index = await control.evaluateAll(
    (found, wanted) =>
      found.findIndex((one) => {
        const label = one.labels?.[0]?.textContent;
        return (one.getAttribute("aria-label") ?? label ?? one.textContent ?? "").trim() === wanted;
      }),
    name,
  );
  if (index < 0) return false;
  return control
    .nth(index)
    .click({ timeout: 2_000 })
    .then(() => true)
    .catch(() => false);
}

/** Until nothing is on its way any more. */
async function quiet(page, open) {
  await page.waitForTimeout(50);
  for (let i = 0; i < 40 && open.size > 0; i++) await page.waitForTimeout(50);
}

/** Presses everything on a page, and what the dialogs and menus that open offer first. */
async function pressAll(page, path, seen) {
  await page.goto(path);
  await page.locator("h1, [role=dialog]").first().waitFor();
  await page.locator("[data-shape], [aria-busy=true]").first().waitFor({ state: "detached" });
  await quiet(page, seen.open);
  let pressed = 0;
  for (const name of await names(page.locator("main"))) {
    seen.at = `${path}: ${name}`;
    if (!(await press(page.locator("main"), name))) continue;
    pressed++;
    await quiet(page, seen.open);
    const over = page.locator("[role=dialog], [role=menu]").last();
    if (await over.isVisible().catch(() => false)) {
      for (const inner of await names(over)) {
        seen.at = `${path}: ${name}: ${inner}`;
        if (await press(over, inner)) pressed++;
        await quiet(page, seen.open);
        if (!(await over.isVisible().catch(() => false))) break;
      }
      await page.keyboard.press("Escape");
    }
    if (new URL(page.url()).pathname !== new URL(path, page.url()).pathname) await page.goto(path);
  }
  return pressed;
}

/** Notes each answer of the API that refuses for want of access, with what was pressed before it. */
function watch(page) {
  const seen = { at: "", refused: [], open: new Set() };
  page.on("request", (request) => {
    // Streams stay open.
    if (request.url().includes("/api/v1/") && !/events|logs\?/.test(request.url()))
      seen.open.add(request);
  });
  const ended = (request) => seen.open.delete(request);
  page.on("requestfinished", ended);
  page.on("requestfailed", ended);
  page.on("response", (response) => {
    const request = response.request();
    const act = request.method() !== "GET";
    const refused = response.status() === 403 || (act && [401, 404].includes(response.status()));
    if (refused && response.url().includes("/api/v1/"))
      seen.refused.push(
        `${seen.at}: ${request.method()} ${new URL(response.url()).pathname} ${response.status()}`,
      );
  });
  return seen;
}

const LISTS = ["/deployments", "/urls", "/projects", "/environments", "/services", "/plugins"]
  .concat(["/registries", "/templates?project=shop", "/teams", "/audit", "/notices"])
  .concat(["/deployments/diff", "/deployments/new", "/projects/shop/pipeline"])
  .concat(["/services?open=web", "/plugins?open=http-check", "/users", "/nodes", "/settings"]);
const TABS = ["run", "services", "logs", "metrics", "terminal", "details", "history", "comments"];

export const stories = [
  [
    "each control that a page offers a reader, or somebody without a team, is one the server accepts",
    async ({ page, browser }) => {
      await signIn(page);
      const project = await waiting(page);
      const { viewer, engineer, leave } = await invite(page, ["shop", project]);
      const stranger = { name: freshName("nobody"), password: viewer.password };
      await send(page, "PUT", `/users/${stranger.name}`, {
        role: "user",
        password: stranger.password,
      });
      // Full on one project and Read on the other: what is theirs here is not theirs there.
      await send(page, "PUT", `/teams/${engineer.name}`, {
        members: [engineer.name],
        grants: [
          { project: "shop", level: "full" },
          { project, level: "read" },
        ],
      });
      let made;
      try {
        made = await create(page, freshName("roles"), project);
        const waits = async () => (await api(page, `/deployments/${made.id}`)).question;
        await until("it waits for an answer", waits, RUN);
        const own = [...TABS, "capsule"].map((tab) => `/d/${made.id}/${tab}`);
        for (const [who, paths, least] of [
          [viewer, [...own, ...LISTS], 40],
          [engineer, own, 10],
          [stranger, LISTS, 8],
        ]) {
          const theirs = await open(browser);
          const seen = watch(theirs.page);
          await signIn(theirs.page, "/deployments", who);
          let pressed = 0;
          for (const path of paths) pressed += await pressAll(theirs.page, path, seen);
          await theirs.context.close();
          // promise: U-05
          check(seen.refused.length === 0, `refused:\n    ${seen.refused.join("\n    ")}`);
          check(pressed >= least, `only ${pressed} controls of ${who.name} were pressed`);
        }
        const { status } = await api(page, `/deployments/${made.id}`);
        check(status === "applying", `the deployment is ${status} after everything was pressed`);
      } finally {
        if (made) await cleanUp(page, made.id);
        await leave();
        await send(page, "DELETE", `/users/${stranger.name}`);
        await send(page, "DELETE", `/projects/${project}`);
      }
    },
  ],
];
