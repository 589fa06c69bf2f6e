// Seeing and getting into a deployment: all logs in one view, metrics, a terminal.
import { api, check, freshName, picture, RUN, signIn, until } from "./browser.mjs";
import { cleanUp, create } from "./main.mjs";

export const stories = [
  [
    "read all logs in one view, see metrics, and work in a terminal",
    async ({ page }) => {
      await signIn(page);
      const made = await create(page, freshName("reach"));
      const read = () => api(page, `/deployments/${made.id}`);
      await until("ready", async () => (await read()).status === "ready", RUN);
      const { services } = await read();
      await page.goto(`/d/${made.id}/logs`);
      await logs(page, services);
      await page.goto(`/d/${made.id}/terminal`);
      await terminal(page, services);
      await page.goto(`/d/${made.id}/metrics`);
      await metrics(page);
      await cleanUp(page, made.id);
    },
  ],
];

/** Lines of a service and of a step are there; one source can be picked, and a line linked to. */
async function logs(page, services) {
  const log = page.getByRole("log");
  await log.locator(".ln").first().waitFor({ timeout: RUN });
  const all = page.getByRole("group", { name: "Services and steps" });
  await all.getByRole("button", { name: services[0].step, exact: true }).click();
  await page.waitForURL(/log=/);
  await log.locator(".ln a.k").first().waitFor({ timeout: RUN });
  await picture(page, "logs");
  const link = await log.locator(".ln a.k").first().getAttribute("href");
  await page.goto(link);
  await log.locator(".ln.hit").first().waitFor({ timeout: RUN });
}

/** A curve, or that there is none yet: the node measures every now and then, which takes too long here. */
async function metrics(page) {
  const none = page.getByText("Nothing was measured in this time.");
  await page.locator(".chart canvas").or(none).first().waitFor({ timeout: RUN });
  await picture(page, "metrics");
}

/** Types into a service that has a shell, and sees what it answers. */
async function terminal(page, services) {
  const names = services.map((service) => service.step);
  const db = names.find((name) => /db|postgres|data/.test(name)) ?? names[0];
  await page.getByLabel("Service", { exact: true }).selectOption(db);
  await page.getByRole("button", { name: "Open terminal" }).click();
  const screen = page.locator(`[data-terminal="${db}"]`);
  await screen.locator(".xterm-helper-textarea").waitFor({ state: "attached" });
  await until("the prompt", async () => /[$#]/.test(await screen.innerText()), RUN);
  await page.keyboard.type("echo it-is-$((40+2))\n");
  await until("the answer", async () => (await screen.innerText()).includes("it-is-42"), RUN);
  await picture(page, "terminal");
  check((await page.locator("style").count()) === 0, "the terminal made a style element");
}
