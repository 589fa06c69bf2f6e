// A run that fails: its page shows what the plugin wrote and how it ended, and it is tried again.
import { api, check, freshName, picture, RUN, same, send, signIn, until } from "./browser.mjs";
import { cleanUp, pill } from "./main.mjs";

/** The test plugin, in the first step with a result, in the second one with an exit code. */
const step = (plugin, key, needs, parameters) => ({
  key,
  needs,
  plugin: { name: plugin, parameters },
});

/** A plugin of the example's registry, under a name of its own. */
async function plugin(page, name) {
  const parameters = { type: "object" };
  const component = { actions: ["create", "delete"], parameters, outputs: { type: "object" } };
  const image = { registry: "local", image: "test/hostile", tag: "1.0.0" };
  await send(page, "PUT", `/plugins/${name}`, { ...image, component });
}

async function publishes(page, name, steps) {
  await send(page, "PUT", `/projects/${name}/pipeline`, { pipeline: { steps } });
}

/** Errors are among the lines, the code is beside the message, and the result is the output. */
async function shows(page, id) {
  await page.goto(`/d/${id}/run`);
  // It opens on the step that failed.
  await page.locator(".lp h2", { hasText: "worse" }).waitFor();
  // promise: N-064
  await page.locator(".log .ln", { hasText: "leaving with 7" }).waitFor();
  await page.getByText("exit code 7").first().waitFor();
  await picture(page, "failed-step");
  // promise: U-01
  const { sentence, remedy } = (await api(page, `/deployments/${id}`)).failure;
  same(/^Step worse failed: the plugin ended with exit code 7.+\.$/.test(sentence), true, sentence);
  for (const said of [sentence, remedy]) await page.getByText(said).first().waitFor();
  // promise: U-02
  for (const [key, result] of [
    ["worse", "failed"],
    ["good", "done"],
  ]) {
    const box = page.locator(`.gp [data-step="${key}"]`);
    await box.getByText("Undone").waitFor();
    same(await box.getAttribute("data-st"), result, `what ${key} came to`);
  }
  await opensTheLine(page, id);
  await comparesRuns(page, id);
  await showsTheTime(page);
  await page.goto(`/d/${id}/run`);
  await page.locator('.gp [data-step="good"]').click();
  await page.getByRole("link", { name: "Output", exact: true }).click();
  await page.getByText("made-by-good").first().waitFor();
}

/** From the sentence to the line that says so; the address shows another person the same line. */
async function opensTheLine(page, id) {
  const { line, step } = (await api(page, `/deployments/${id}/runs/1`)).failure;
  await page.getByRole("link", { name: "Open the log at this line" }).click();
  const marked = page.locator(".log .ln.hit.cause");
  await marked.waitFor();
  const said = await marked.locator(".tx").innerText();
  same(said, "leaving with 7", "the line that says why");
  const address = new URL(page.url());
  same(
    [address.searchParams.get("step"), address.searchParams.get("line")],
    [step, String(line)],
    "address",
  );
  await page.goto(address.pathname + address.search);
  await marked.waitFor();
  await picture(page, "failed-line");
  // Once more, from anywhere in the log: it leads to the line each time.
  await page.locator(".log").evaluate((log) => {
    log.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
    log.scrollTop = log.scrollHeight;
  });
  await page.getByRole("link", { name: "Open the log at this line" }).click();
  const [box, mark] = [await page.locator(".log").boundingBox(), await marked.boundingBox()];
  check(mark.y >= box.y && mark.y < box.y + box.height, "the line is out of sight");
  // What is said above is not said again beside the step.
  same(await page.locator(".lp .box").count(), 0, "the cause beside the step");
  // What the undo wrote has numbers of its own, which are short.
  const numbers = await page.locator(".log .ln .k").allInnerTexts();
  check(numbers.length > 0 && numbers.every((number) => number.length < 4), numbers.join());
}

/** There is no good run yet: it says so instead of showing half of a comparison. */
async function comparesRuns(page, id) {
  await page.getByRole("link", { name: "Compare with the last good run" }).click();
  await page.getByRole("heading", { name: "There is no good run to compare with" }).waitFor();
  await page.goto(`/d/${id}/run`);
}

/** Steps as bars on one axis: by keys, with exact times, and down the page on a phone. */
async function showsTheTime(page) {
  await page.getByRole("link", { name: "Time", exact: true }).click();
  const bar = page.locator('.tllane .tlpart[data-part="run"][data-failed]');
  await bar.waitFor();
  check(/Run .* s, .*–.*, failed/.test(await bar.getAttribute("title")), "exact times");
  await page.locator('.tlname[data-step="good"]').focus();
  await page.keyboard.press("ArrowDown");
  await page.locator('.tlname[data-step="worse"][aria-pressed="true"]').waitFor();
  await page.getByRole("table", { name: "Parts of worse" }).waitFor();
  await page.keyboard.press("+");
  await page.getByText("2×", { exact: true }).waitFor();
  await page.keyboard.press("0");
  await picture(page, "failed-time");
  await page.setViewportSize({ width: 390, height: 844 });
  await page.locator(".tldown .tlpart").first().waitFor();
  await picture(page, "failed-time-390");
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  check(wide <= 390, `the page is ${wide} wide`);
  await page.setViewportSize({ width: 1440, height: 900 });
}

export const stories = [
  [
    "a plugin fails: its lines, exit code and outputs are shown; the repaired pipeline is tried from the page",
    async ({ page }) => {
      const name = freshName("repair");
      let id;
      await signIn(page);
      try {
        await plugin(page, name);
        await send(page, "PUT", `/projects/${name}`, { resources: { memory_mib: 256 } });
        const good = step(name, "good", [], { outputs: { what: "made-by-good" } });
        const worse = (more) => step(name, "worse", ["good"], more);
        await publishes(page, name, [good, worse({ mode: "exit", code: 7 })]);
        const body = { name, project: name, environment: "qa", versions: {} };
        ({ id } = await send(page, "POST", "/deployments", body));
        const status = async () => (await api(page, `/deployments/${id}`)).status;
        await until("it fails", async () => (await status()) === "failed", RUN);
        await shows(page, id);
        await page.getByText("pipeline v1", { exact: true }).waitFor();
        await publishes(page, name, [good, worse({ mode: "succeed" })]);
        // promise: N-097
        await page
          .locator(".acts")
          .getByRole("button", { name: /^Retry/ })
          .click();
        await page.getByText("pipeline v2", { exact: true }).waitFor({ timeout: RUN });
        await until("ready", async () => (await pill(page).innerText()) === "Ready", RUN);
        same((await api(page, `/deployments/${id}`)).pipeline_version, 2, "what it runs");
        await page.goto(`/d/${id}/compare?run=1`);
        await page.getByRole("cell", { name: "v2", exact: true }).waitFor();
        await page.getByRole("row", { name: /worse.*parameter mode/ }).waitFor();
        await page
          .getByRole("table")
          .last()
          .getByRole("row", { name: /^worse .*Done.*Failed/ })
          .waitFor();
        await picture(page, "compared");
      } finally {
        if (id) await cleanUp(page, id);
        await send(page, "DELETE", `/projects/${name}`).catch(() => undefined);
        await send(page, "DELETE", `/plugins/${name}`).catch(() => undefined);
      }
    },
  ],
];
