// The log of a service that writes records, as an instrument: columns, errors, equal lines, a search, and time.
import { api, check, freshName, picture, RUN, same, send, signIn, until } from "./browser.mjs";
import { cleanUp } from "./main.mjs";

const SERVED = 40;

/** Forty requests, three equal lines, an error; then a line a second. */
const SCRIPT = [
  `i=0; while [ $i -lt ${SERVED} ]; do`,
  `echo '{"level":"info","msg":"served","path":"/basket/'$i'","ms":'$i'}'; i=$((i+1)); done;`,
  "for j in 1 2 3; do echo waiting for the database; done;",
  'echo \'{"level":"error","msg":"lost the database","attempt":7}\';',
  "n=0; while true; do sleep 1; echo beat $n; n=$((n+1)); done",
].join(" ");

const talks = (service) => ({
  key: "talk",
  needs: [],
  service: { name: service, command: ["-c", SCRIPT], resources: { memory_mib: 32 } },
});

async function made(page, name) {
  const image = { registry: "local", image: "bases/shell", tag_mode: "pinned", tag: "1" };
  await send(page, "PUT", `/services/${name}`, image);
  await send(page, "PUT", `/projects/${name}`, { resources: { memory_mib: 128 } });
  await send(page, "PUT", `/projects/${name}/pipeline`, { pipeline: { steps: [talks(name)] } });
  const body = { name, project: name, environment: "qa", versions: {} };
  const { id } = await send(page, "POST", "/deployments", body);
  await until(
    "it is ready",
    async () => (await api(page, `/deployments/${id}`)).status === "ready",
    RUN,
  );
  return id;
}

/** A record is its level, its message and its fields; as it was written, one key away. */
async function columns(page, log) {
  const lost = log.locator(".ln", { hasText: "lost the database" });
  await lost.waitFor({ timeout: RUN });
  same(await lost.locator(".lv").innerText(), "ERR", "the level");
  same(
    (await lost.locator(".fd").allInnerTexts()).map((one) => one.trim()),
    ["attempt=7"],
    "fields",
  );
  await picture(page, "log-columns");
  await page.keyboard.press("v");
  await log.getByText('{"level":"error","msg":"lost the database","attempt":7}').waitFor();
  await page.keyboard.press("v");
  await lost.locator(".fd").waitFor();
  const wait = log.locator(".ln", { hasText: "waiting for the database" });
  same(await wait.count(), 1, "rows of three equal lines");
  await wait.getByRole("button", { name: "×3: show each of these lines" }).click();
  same(await wait.count(), 3, "rows once they are shown");
  await wait
    .first()
    .getByRole("button", { name: "Fold the lines that are equal to this one" })
    .click();
}

/** What stands at the top of the log, and how far from it, in whole pixels. */
const topOf = (log) =>
  log.evaluate((box) => {
    const edge = box.getBoundingClientRect().top;
    const first = [...box.querySelectorAll(".ln")].find(
      (line) => line.getBoundingClientRect().bottom > edge + 1,
    );
    return [first?.innerText, Math.round((first?.getBoundingClientRect().top ?? 0) - edge)];
  });

/** The tail stays at its end; who scrolls up reads on there, whatever is written meanwhile. */
async function tails(page, log) {
  // What was pressed among the lines has stopped it.
  await page.getByRole("button", { name: "Paused", exact: true }).click();
  await page.getByRole("button", { name: "Following", exact: true }).waitFor();
  await log.hover();
  await page.mouse.wheel(0, -400);
  await page.getByRole("button", { name: "Paused", exact: true }).waitFor();
  let before;
  await until("it has stopped", async () => {
    const last = JSON.stringify(before);
    before = await topOf(log);
    await page.waitForTimeout(150);
    return JSON.stringify(before) === last;
  });
  const more = page.getByRole("button", { name: /^\d+ new lines$/ });
  await until("lines came", async () => Number.parseInt(await more.innerText(), 10) > 3, RUN);
  same(await topOf(log), before, "what stands at the top after lines came");
  await picture(page, "log-paused");
  await more.click();
  await page.getByRole("button", { name: "Following", exact: true }).waitFor();
  await until("the end is in sight", () =>
    log.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight < 24),
  );
}

/** To the first error by a key, and through time by arrows. */
async function jumps(page, log) {
  await page.keyboard.press("p");
  await log.locator(".ln.hit", { hasText: "lost the database" }).waitFor();
  const time = page.getByRole("slider", { name: "Time in the log" });
  const first = log.locator(".ln", { hasText: "/basket/0" });
  await time.waitFor({ timeout: RUN });
  await time.focus();
  await page.keyboard.press("End");
  await page.keyboard.press("Home");
  await first.waitFor();
  check(/\d\d:\d\d:\d\d, \d+ lines?/.test(await time.getAttribute("aria-valuetext")), "the time");
}

/** One box searches; its filter keeps the rest away; the file has what is shown. */
async function finds(page) {
  const box = page.getByRole("searchbox", { name: "Find in log" });
  await box.fill("/basket/1");
  // 1, and 10 to 19.
  const found = 11;
  await page.getByText(`1 of ${found}`, { exact: true }).waitFor();
  await page.getByRole("button", { name: "Show only lines with it" }).click();
  await page.getByText(`${found} lines`, { exact: true }).waitFor();
  await picture(page, "log-found");
  const saved = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download all lines with it" }).click();
  const stream = await (await saved).createReadStream();
  let text = "";
  for await (const part of stream) text += part;
  const lines = text.trim().split("\n");
  same(lines.length, found, "lines in the file");
  check(
    lines.every((line) => line.includes("/basket/1")),
    `the file has ${lines[0]}`,
  );
  await box.fill("");
  await page.getByRole("button", { name: "Show only lines with it" }).click();
}

export const stories = [
  [
    "a service writes records: its log has columns, folds, keeps its place, finds and leads through time",
    async ({ page }) => {
      const name = freshName("records");
      let id;
      await signIn(page);
      try {
        id = await made(page, name);
        await page.goto(`/d/${id}/logs?log=talk`);
        const log = page.getByRole("log");
        await columns(page, log);
        await tails(page, log);
        await jumps(page, log);
        await finds(page);
      } finally {
        if (id) await cleanUp(page, id);
        for (const path of [`/projects/${name}`, `/services/${name}`])
          await send(page, "DELETE", path).catch(() => undefined);
      }
    },
  ],
];
