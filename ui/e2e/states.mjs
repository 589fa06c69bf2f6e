// Zero faults of axe-core in what pages show for a moment only: questions, sheets, what runs, what failed, what is awaited.
import {
  accessible,
  api,
  check,
  freshName,
  password,
  picture,
  RUN,
  same,
  send,
  signIn,
  until,
  user,
} from "./browser.mjs";
import { waiting } from "./life.mjs";
import { cleanUp, pill } from "./main.mjs";

/** Fades are over and colours final when axe looks. */
async function inBoth(page, name) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await page.waitForTimeout(250);
    await accessible(page, `${name}, ${colorScheme}`);
  }
  await picture(page, `state-${name.replaceAll(/\W+/g, "-")}`);
}

/** A question or a sheet over the page: looked at, and closed. */
async function over(page, name) {
  const dialogs = page.getByRole("dialog");
  await dialogs.first().waitFor();
  await inBoth(page, name);
  await until(`${name} is closed`, async () => {
    await page.keyboard.press("Escape");
    const leave = page.getByRole("button", { name: "Leave", exact: true });
    if (await leave.isVisible()) await leave.click();
    return (await dialogs.count()) === 0;
  });
}

const act = (page, name) => page.locator(".acts").getByRole("button", { name }).first();

/** A run that waits for an answer, the questions about it, and what is left when it was stopped. */
async function underWay(page, made) {
  await page.goto(`/d/${made.id}/run`);
  await page.getByText("Shall it go on?").first().waitFor({ timeout: RUN });
  await inBoth(page, "a run that waits for an answer");
  await page.getByRole("button", { name: /^No, undo/ }).click();
  await over(page, "a rejection");
  await act(page, "Hold").click();
  await over(page, "a hold");
  await act(page, /^Cancel/).click();
  await over(page, "a cancellation");
  await failed(page, made);
  await cleanUp(page, made.id);
  await page.goto(`/d/${made.id}/run`);
  await until("the record", async () => /Canceled|Removed/.test(await pill(page).innerText()));
  await inBoth(page, "a record of what is gone");
}

/** As it would be told if a step had failed, or something had been left behind. */
async function failed(page, { id }) {
  for (const status of ["failed", "stuck"]) {
    const path = `**/api/v1/deployments/${id}`;
    await page.route(path, async (route) => {
      const response = await route.fetch();
      const { question, ...told } = await response.json();
      const failure = { step: "go", code: "exit", message: "it ended with code 1" };
      await route.fulfill({ response, json: { ...told, status, failure, revision: 1e9 } });
    });
    await page.goto(`/d/${id}/run`);
    await pill(page)
      .getByText(status === "failed" ? "Failed" : "Stuck")
      .waitFor();
    await inBoth(page, `a deployment that is ${status}`);
    await page.unroute(path);
  }
}

/** The sheet that creates: refused by its checks, kept as a template, and left with a name typed. */
async function creates(page) {
  await page.route("**/api/v1/deployments/preflight", (route) =>
    route.fulfill({
      json: {
        ok: false,
        versions: [],
        checks: [
          {
            id: "capacity",
            state: "failed",
            message: "No node has room. demo: 1.1 GB short.",
            remedy: "Wait.",
          },
          { id: "tag", state: "unknown", message: "The registry did not answer." },
        ],
        nodes: [{ node: "demo", fits: false, reason: "1.1 GB short.", memory_free: 1e9 }],
      },
    }),
  );
  await page.goto("/deployments/new?project=shop");
  const sheet = page.getByRole("dialog", { name: "New deployment" });
  await sheet.getByLabel("Name").fill(freshName("state"));
  await sheet.getByText("No node has room.").first().waitFor();
  // Why a node has no room is in the table alone.
  same(await sheet.getByText("1.1 GB short.").count(), 1, "how often it says why not");
  await inBoth(page, "a create that the checks refuse");
  await sheet.getByRole("button", { name: "Save as template" }).click();
  await page.getByRole("dialog", { name: "Save as template" }).waitFor();
  await inBoth(page, "a template that is saved");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog", { name: "Save as template" }).waitFor({ state: "detached" });
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Leave", exact: true }).waitFor();
  await inBoth(page, "a sheet that is left");
  await page.unroute("**/api/v1/deployments/preflight");
}

/** The palette with and without words, and a token that is shown this once. */
async function elsewhere(page) {
  await page.goto("/deployments");
  await page.getByRole("heading", { level: 1 }).first().waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("option").first().waitFor();
  await inBoth(page, "the palette");
  await page.keyboard.type("shop");
  await over(page, "the palette that searches");
  await page.goto("/account");
  const mine = page.getByRole("region", { name: "Tokens" }).last();
  const name = freshName("shown");
  await mine.getByLabel("What for").fill(name);
  await mine.getByRole("button", { name: "Make a token" }).click();
  await mine.getByText("The token is shown only now:").waitFor();
  await inBoth(page, "a token that is shown once");
  const row = mine.locator(".row").filter({ hasText: name }).filter({ hasText: "nop_" });
  await row.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await row.waitFor({ state: "detached" });
}

/** The editor with a step beside it, its lists of versions and problems, and what a dry run says. */
async function editor(page) {
  await page.goto("/projects/shop/pipeline");
  await page.locator('.en[data-key="web"]').click();
  await page.getByRole("complementary", { name: "web" }).waitFor();
  await inBoth(page, "the inspector");
  for (const tab of ["Problems", "Changes", "Dry run"]) {
    await page.getByRole("tab", { name: new RegExp(`^${tab}`) }).click();
    await inBoth(page, `the panel ${tab}`);
  }
}

/** Both drew on one version, and the other was faster: what meets is chosen, field by field. */
async function merges(page, project) {
  const asks = (prompt) => ({ steps: [{ key: "go", needs: [], approval: { prompt } }] });
  const content = asks("Shall mine go on?");
  await send(page, "PUT", `/projects/${project}/draft`, { base_version: 1, content });
  await send(page, "PUT", `/projects/${project}/pipeline`, { pipeline: asks("Shall theirs?") });
  await page.goto(`/projects/${project}/pipeline`);
  await page.getByRole("button", { name: "Look at it" }).click();
  await over(page, "the three-way list");
}

/** Pages of which nothing is known yet, and then nothing can be. */
const awaited = ({ id }) => [
  ...["run", "services", "logs", "metrics", "history", "capsule"].map((tab) => `/d/${id}/${tab}`),
  "/nodes/demo",
  "/projects/shop/pipeline",
  `/deployments/diff?a=${id}&b=${id}`,
  "/deployments/new",
  "/secrets?project=shop",
  "/templates?project=shop",
  "/fleet",
  "/topology",
  "/settings/keys",
  "/settings/certificates",
  "/settings/backups",
  "/teams/access",
  "/account",
  "/start",
];

/** All that the API would say is held back, but for who is signed in; then it breaks. */
async function withheld(page, path) {
  let answer = () => undefined;
  const held = new Promise((done) => {
    answer = done;
  });
  const others = (url) => url.pathname.startsWith("/api/v1/") && url.pathname !== "/api/v1/me";
  await page.route(others, async (route) => {
    await held;
    const json = { type: "about:blank", title: "It broke.", status: 400, code: "broken" };
    await route.fulfill({ status: 400, json: { ...json, request_id: "a-request" } });
  });
  await page.goto(path);
  await page.locator(".main").waitFor();
  await page.waitForTimeout(500);
  await accessible(page, `${path} while it is read`);
  answer();
  await page
    .getByText(/It broke|could not be read/)
    .first()
    .waitFor();
  await inBoth(page, `${path} that could not be read`);
  await page.unroute(others);
}

export const stories = [
  [
    "axe finds nothing in questions, sheets and boxes that pages show for a moment",
    async ({ page }) => {
      await signIn(page);
      const project = await waiting(page);
      const body = { name: freshName("asks"), project, environment: "qa", versions: {} };
      const made = await send(page, "POST", "/deployments", body);
      try {
        await underWay(page, made);
        await creates(page);
        await elsewhere(page);
        await editor(page);
        await merges(page, project);
      } finally {
        await cleanUp(page, made.id);
        await send(page, "DELETE", `/projects/${project}`);
      }
    },
  ],
  [
    "axe finds nothing on pages of one thing while they are read, and when they cannot be",
    async ({ page }) => {
      await signIn(page);
      const { items } = await api(page, "/deployments?removed=true&limit=1");
      check(items.length === 1, "no deployment was ever made");
      for (const path of awaited(items[0])) await withheld(page, path);
    },
  ],
  [
    "axe finds nothing on a sign-in that was refused",
    async ({ page }) => {
      await page.goto("/sign-in");
      await page.getByLabel("User name").fill(user);
      await page.getByLabel("Password").fill(`${password}x`);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("alert").waitFor();
      await inBoth(page, "a sign-in that was refused");
    },
  ],
];
