import { until } from "../../e2e/browser.mjs";
import { frameRows, framesOf, heap, percentile, round, watchFrames } from "./frames.mjs";
import { json } from "./proxy.mjs";

// Small ones show on any machine that a row comes to its end; their numbers mean nothing.
export const small = process.argv.includes("--small");
const ROWS = small ? 1_200 : 10_000;
const LINES = small ? 30_000 : 1_000_000;
const EVENTS = small ? 30 : 300;
const said = (count) => count.toLocaleString("en");

/** A deployment as the API gives it, made up. */
function madeUp(i, more = {}) {
  const at = new Date(Date.now() - i * 60_000).toISOString();
  const id = `01937c1e-8a40-7000-8000-${String(i).padStart(12, "0")}`;
  const tag = `feat-${i % 97}-${(i * 7919).toString(16)}`;
  return {
    id,
    name: `deployment-${i}`,
    project: `project-${i % 40}`,
    environment: `qa-${i % 9}`,
    status: ["ready", "ready", "ready", "ready", "failed", "applying"][i % 6],
    revision: 1,
    node: `node-${i % 30}`,
    pipeline_version: 3,
    run: 1,
    steps_done: 4,
    steps_total: 6,
    versions: [
      { step: "web", service: "web", image: "web", tag_mode: "selectable", tag, digest: "" },
    ],
    services: [
      {
        step: "web",
        health: "healthy",
        url: `http://web--deployment-${i}.example`,
        ports: [],
        restarts: 0,
      },
    ],
    created_by: `person-${i % 300}`,
    created_at: at,
    changed_at: at,
    level: "full",
    ...more,
  };
}

function manyDeployments(front) {
  front.answers.set(/^\/api\/v1\/deployments$/, (_, res, url) => {
    const from = Number(url.searchParams.get("cursor") ?? 0);
    const items = Array.from({ length: Math.min(500, ROWS - from) }, (_, i) => madeUp(from + i));
    json(res, { items, next_cursor: from + 500 < ROWS ? String(from + 500) : undefined });
  });
}

async function wheel(page, box, times, by) {
  const { x, y, width, height } = await box.boundingBox();
  await page.mouse.move(x + width / 2, y + height / 2);
  for (let i = 0; i < times; i++) await page.mouse.wheel(0, by);
}

/** A list of ten thousand, scrolled by the wheel from top to bottom and back. */
export async function scrollList({ page, front }) {
  manyDeployments(front);
  await page.goto(`${front.url}/deployments`);
  await page.locator(".lr").first().waitFor({ timeout: 120_000 });
  await page
    .getByText(`${said(ROWS)} deployments`)
    .first()
    .waitFor();
  await watchFrames(page, "wheel");
  await wheel(page, page.locator(".body"), 200, 400);
  await wheel(page, page.locator(".body"), 100, -1500);
  const frames = await framesOf(page);
  return [
    ...frameRows("list_scroll", `List of ${said(ROWS)} deployments, scrolling`, frames),
    {
      id: "list_heap",
      what: "The same list, memory of the page",
      value: Math.round(await heap(page)),
      unit: "MB",
      target: "no limit set",
    },
  ];
}

const clock = () => performance.timeOrigin + performance.now();

/** Events of a list with ten thousand rows: from the server's write to the painted row. */
export async function live({ page, front }) {
  manyDeployments(front);
  let out;
  front.answers.set(/^\/api\/v1\/events$/, (_, res) => {
    res.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
    res.write(": hello\n\n");
    out = res;
  });
  await page.goto(`${front.url}/deployments`);
  await page.locator(".lr").first().waitFor({ timeout: 120_000 });
  await until("the stream", () => out, 30_000);
  await page.evaluate(() => {
    window.painted = {};
    const after = new MessageChannel();
    after.port1.onmessage = ({ data }) => {
      window.painted[data] ??= performance.timeOrigin + performance.now();
    };
    new MutationObserver(() => {
      const said = document.querySelector(".c-o")?.textContent ?? "";
      for (const told of document.body.querySelectorAll(".c-o"))
        if (told.textContent.startsWith("beat-")) {
          const what = told.textContent;
          requestAnimationFrame(() => after.port2.postMessage(what));
        }
      return said;
    }).observe(document.querySelector("[role=table]"), {
      subtree: true,
      childList: true,
      characterData: true,
    });
  });
  const shown = await page.locator(".lr").first().getAttribute("data-id");
  const row = madeUp(Number(shown.split("-").pop()));
  const sent = {};
  for (let i = 1; i <= EVENTS; i++) {
    const told = { ...row, revision: 1 + i, created_by: `beat-${i}` };
    sent[told.created_by] = clock();
    out.write(`id: ${i}-0\nevent: deployment\ndata: ${JSON.stringify(told)}\n\n`);
    await new Promise((resolve) => setTimeout(resolve, 60 + Math.random() * 60));
  }
  await page.waitForTimeout(500);
  const painted = await page.evaluate(() => window.painted);
  out.end();
  const took = Object.entries(painted).map(([what, at]) => at - sent[what]);
  if (took.length < EVENTS * 0.9) throw new Error(`only ${took.length} changes were seen`);
  return [
    {
      id: "event_to_paint",
      what: `Server event to painted change, list of ${said(ROWS)}, p99 of ${took.length}`,
      value: round(percentile(took, 99)),
      unit: "ms",
      target: "≤ 150 ms",
      met: percentile(took, 99) <= 150,
      median: round(percentile(took, 50)),
    },
  ];
}

/** A step's log of a million lines: read to its end, then scrolled. */
export async function longLog({ page, front }) {
  const at = new Date().toISOString();
  const made = madeUp(1, { status: "applying" });
  const step = {
    run: 1,
    key: "seed",
    position: 1,
    kind: "plugin",
    title: "seed 1.0",
    needs: [],
    status: "running",
    started_at: at,
    lines: LINES,
  };
  const run = {
    id: made.id,
    number: 1,
    pipeline_version: 3,
    status: "applying",
    started_by: "bench",
    created_at: at,
    versions: [],
    steps: [step],
  };
  const place = `/api/v1/deployments/${made.id}`;
  const exactly = (path) => new RegExp(`^${path}$`);
  front.answers.set(exactly(place), (_, res) => json(res, made));
  front.answers.set(exactly(`${place}/runs/1`), (_, res) => json(res, run));
  front.answers.set(exactly(`${place}/runs`), (_, res) => json(res, { items: [run] }));
  front.answers.set(exactly(`${place}/events`), (_, res) => {
    res.writeHead(200, { "Content-Type": "text/event-stream" });
    res.write(": hello\n\n");
  });
  front.answers.set(exactly(`${place}/runs/1/steps/seed/log`), (_, res, url) => {
    const after = Number(url.searchParams.get("after") ?? 0);
    const limit = Number(url.searchParams.get("limit") ?? 5000);
    const count = Math.max(0, Math.min(limit, LINES - after));
    const items = Array.from({ length: count }, (_, i) => ({
      run: 1,
      step: "seed",
      number: after + i + 1,
      at,
      text: `inserted row ${after + i + 1} of ${LINES} into products, 1 of 1 ok`,
    }));
    json(res, { items, more: after + count < LINES });
  });
  await page.goto(`${front.url}/account`);
  const empty = await heap(page);
  const begun = Date.now();
  await page.goto(`${front.url}/d/${made.id}/run?step=seed`);
  await page
    .locator(`.log .ln .k`)
    .getByText(String(LINES), { exact: true })
    .waitFor({ timeout: 300_000 });
  const seconds = (Date.now() - begun) / 1000;
  const full = await heap(page);
  const box = page.locator(".log");
  await wheel(page, box, 3, -400);
  await watchFrames(page, "wheel");
  await wheel(page, box, 200, -400);
  await wheel(page, box, 100, 1500);
  const frames = await framesOf(page);
  return [
    ...frameRows("log_scroll", `Log of ${said(LINES)} lines, scrolling`, frames),
    {
      id: "log_heap",
      what: "The same log, memory of the page",
      value: Math.round(full),
      unit: "MB",
      target: "≤ 300 MB",
      met: full <= 300,
      before: Math.round(empty),
    },
    {
      id: "log_read",
      what: "The same log, until its last line is shown",
      value: round(seconds),
      unit: "s",
      target: "no limit set",
    },
  ];
}

/** The list's first paint with an empty cache, twelve times. */
export async function firstPaint({ browser, open, signIn, front }) {
  const { context, page } = await open(browser, { baseURL: front.url });
  await signIn(page);
  const took = [];
  const session = await context.newCDPSession(page);
  for (let i = 0; i < 12; i++) {
    await session.send("Network.clearBrowserCache");
    await page.goto(`${front.url}/deployments`);
    await page.locator(".app").waitFor();
    const painted = () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
    took.push(await (await page.waitForFunction(painted)).jsonValue());
  }
  await context.close();
  return [
    {
      id: "first_paint",
      what: `First contentful paint, empty cache, median of ${took.length}`,
      value: Math.round(percentile(took, 50)),
      unit: "ms",
      target: "≤ 1,000 ms",
      met: percentile(took, 50) <= 1000,
      worst: Math.round(Math.max(...took)),
    },
  ];
}
