// What teams held and what it cost, what was meant for them, and what needs attention now.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { gunzipSync } from "node:zlib";
import {
  accessible,
  api,
  check,
  freshName,
  picture,
  RUN,
  same,
  send,
  signIn,
  until,
} from "./browser.mjs";
import { freeze } from "./engine.mjs";
import { fits } from "./looks.mjs";
import { cleanUp, create } from "./main.mjs";

const HELD = 120_000;

/** What the page says of each row, by its name. */
const shown = async (page) =>
  Object.fromEntries(
    (await page.locator("main .tbl").first().locator("tbody tr").allInnerTexts()).map((text) => {
      const [name, ...rest] = text.split(/[\t\n]+/).map((part) => part.trim());
      return [name, rest];
    }),
  );

async function choose(page, label, option) {
  await page.getByRole("combobox", { name: new RegExp(`^${label}:`) }).click();
  await page.getByRole("option", { name: option, exact: true }).click();
}

/** By team and by project, with prices, shares and a budget, as the API has them. */
async function usage(page) {
  const held = async () => (await api(page, "/usage?by=project")).items;
  await until(
    "the ledger knows what the shop holds",
    async () => (await held()).some(({ key }) => key[0] === "shop"),
    HELD,
  );
  await page.goto("/usage");
  await page.getByRole("heading", { name: "Usage", level: 1 }).waitFor();
  await page.getByText("Without prices nothing has a cost.", { exact: false }).waitFor();
  await send(page, "PUT", "/usage/prices", { currency: "EUR", cpu_hour: 2, memory_gib_hour: 1 });
  await send(page, "PUT", "/usage/budgets/story", {
    scope: "project",
    subject: "shop",
    measure: "cpu_hours",
    amount: 0.0001,
  });
  try {
    await page.reload();
    await page.getByRole("columnheader", { name: "Cost" }).first().waitFor();
    await choose(page, "By", "Project");
    await page.getByRole("columnheader", { name: "Project" }).waitFor();
    const rows = await until("the rows of projects", async () => {
      const all = await shown(page);
      return all.shop && all;
    });
    same(Object.keys(rows).length, (await held()).length, "rows of projects");
    const sums = await download(page, page.getByRole("button", { name: "Export as CSV" }));
    const [head, ...lines] = readFileSync(await sums.path(), "utf8")
      .trim()
      .split("\n");
    check(head.startsWith("project,cpu_seconds,"), `the file begins with ${head}`);
    check(
      lines.some((line) => line.startsWith("shop,")),
      `the shop is not in ${lines}`,
    );
    check(/\d %/.test(rows.shop.join(" ")), `no share of the shop: ${rows.shop}`);
    check(/\d\.\d\d EUR/.test(rows.shop.join(" ")), `no cost of the shop: ${rows.shop}`);
    await page.getByText(/^In all .* CPU hours .* EUR\.$/).waitFor();
    const budget = page
      .getByRole("region", { name: "Budgets of this month" })
      .getByRole("listitem");
    await budget.filter({ hasText: "Project shop" }).getByText("Used up").waitFor();
    await accessible(page, "usage");
    await picture(page, "usage-light");
    await page.emulateMedia({ colorScheme: "dark" });
    await picture(page, "usage-dark");
    await page.emulateMedia({ colorScheme: "light" });
    await fits(page, "usage", { axe: true });
    await choose(page, "Time", "Last month");
    await page.getByText(/^Nothing was reserved in this time/).waitFor();
    await picture(page, "usage-empty");
  } finally {
    await send(page, "DELETE", "/usage/budgets/story");
    await send(page, "PUT", "/usage/prices", { currency: "" });
  }
}

/** What a button has the browser save. */
async function download(page, button) {
  const arrives = page.waitForEvent("download");
  await button.click();
  return arrives;
}

/** All that the processes know of themselves, in one file; what is secret is hidden in it. */
async function support(page) {
  await page.goto("/settings/about");
  const archive = await download(page, page.getByRole("button", { name: "Write an archive" }));
  check(/^nullops-support-[\d-]+\.tar\.gz$/.test(archive.suggestedFilename()), "the file's name");
  const files = gunzipSync(readFileSync(await archive.path())).toString("latin1");
  for (const part of ["README.txt", "versions.json", "goroutine profile", "nullops_api_request"])
    check(files.includes(part), `${part} is not in the archive`);
  await page.getByText(/^The archive is saved/).waitFor();
  await accessible(page, "an archive for support");
  await picture(page, "support");
}

/** A webhook is tried from its sheet: what the other end answered is said, good or bad. */
async function webhook(page) {
  const answers = [200, 503];
  const got = [];
  const server = createServer((req, res) => {
    got.push(req.headers["content-type"]);
    req.resume().on("end", () => res.writeHead(answers.shift() ?? 200).end());
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const name = freshName("hook");
  await send(page, "PUT", `/webhooks/${name}`, {
    kind: "json",
    url: `http://127.0.0.1:${server.address().port}/hook`,
    events: ["deployment.failed"],
  });
  try {
    await page.goto(`/webhooks?open=${name}`);
    const sheet = page.getByRole("dialog", { name });
    const test = sheet.getByRole("button", { name: "Send a test message" });
    await test.click();
    await sheet.getByText(/200/).first().waitFor();
    await test.click();
    await sheet.getByText(/503/).first().waitFor();
    same(got.length, 2, "messages that arrived");
    await accessible(page, "a webhook that was tried");
    await picture(page, "webhook-test");
  } finally {
    server.close();
    await send(page, "DELETE", `/webhooks/${name}`);
  }
}

/** Who changed what: by day, in words, with the definition before and after; chosen, not typed. */
async function audit(page) {
  const name = freshName("team");
  const put = (description) =>
    send(page, "PUT", `/teams/${name}`, { description, members: [], grants: [] });
  await put("Tests the shop");
  await put("Tests the shop and its mail");
  try {
    await page.goto("/audit");
    await page.locator(".tbl .day").first().waitFor();
    const saved = page
      .locator(".tbl tr")
      .filter({ hasText: name })
      .getByRole("button", { name: /^Saved team/ });
    await saved.first().click();
    const changed = page.getByRole("table", { name: "What changed" });
    const row = changed.locator("tr").filter({ hasText: "description" });
    same(await row.locator("del").innerText(), "Tests the shop", "the description before");
    same(await row.locator("ins").innerText(), "Tests the shop and its mail", "and after");
    await accessible(page, "an entry of the audit");
    await picture(page, "audit-changed");
    await fits(page, "audit with an open entry");
    const free = page.locator("main .filters input[type=text]");
    same(await free.count(), 0, "fields of free text");
  } finally {
    await send(page, "DELETE", `/teams/${name}`);
  }
}

/** An alert says what is wrong, since when and what to do; somebody takes it, silences it, and it ends. */
async function alerts(page, { id, name }) {
  const item = page.locator('[data-condition="deployment.degraded"]').filter({ hasText: name });
  await until(
    "it is well",
    async () => (await api(page, `/deployments/${id}`)).status === "ready",
    RUN,
  );
  const thaw = await freeze(id, "web");
  try {
    await page.goto("/alerts");
    await until(
      "the alert",
      async () => {
        await page.reload();
        await page.locator("main [aria-busy=false]").waitFor();
        return (await item.count()) === 1;
      },
      RUN,
    );
    // promise: O-02
    same(await item.count(), 1, "alerts of the frozen deployment");
    await item.getByRole("button", { name: "Acknowledge" }).click();
    await item.getByText(/looks after it/).waitFor();
    await item.getByRole("combobox", { name: /^Silence/ }).click();
    await page.getByRole("option", { name: "1 hour" }).click();
    await item.getByText(/silenced it/).waitFor();
    await item.getByRole("button", { name: "End the silence" }).click();
    await item.getByRole("combobox", { name: /^Silence/ }).waitFor();
    await accessible(page, "alerts");
    await picture(page, "alerts-light");
    await page.emulateMedia({ colorScheme: "dark" });
    await picture(page, "alerts-dark");
    await page.emulateMedia({ colorScheme: "light" });
    await fits(page, "alerts", { axe: true });
  } finally {
    await thaw();
  }
  await page.goto("/alerts");
  await page.getByRole("button", { name: "Show those that ended" }).click();
  // promise: O-02
  await until(
    "it has ended",
    async () => {
      await page.reload();
      await page.getByRole("button", { name: "Show those that ended" }).click();
      await page.getByRole("heading", { name: /^Ended/ }).waitFor();
      return (await item.getByText(/ended/).count()) > 0;
    },
    RUN,
  );
  await picture(page, "alerts-ended");
}

export const stories = [
  [
    "an admin oversees: usage and cost by team, budgets, alerts, a webhook tried, what a change was before, an archive for support",
    async ({ page }) => {
      await signIn(page);
      const made = await create(page, freshName("held"));
      try {
        await webhook(page);
        await audit(page);
        await alerts(page, made);
        await usage(page);
        await support(page);
      } finally {
        await cleanUp(page, made.id);
      }
    },
  ],
];
