// Live data: a link that breaks, lines that lie.
import { api, check, freshName, picture, RUN, same, signIn, until } from "./browser.mjs";
import { cleanUp, compareLogs, create, pill } from "./main.mjs";

const hostile = [
  '<img src=x onerror="window.hacked=1">',
  "<script>window.hacked=1</script>",
  "</span></div><iframe src=javascript:alert(1)></iframe>",
  "\u001b[31mred\u001b[0m \u001b]0;title\u0007 \u001b]8;;javascript:alert(1)\u001b\\link\u001b]8;;\u001b\\",
  "safe\u202egnp.exe \u2066hidden\u2069",
  "one\rtwo \u0000 \u0008 end",
  "connecting to postgres://app:[secret]@db/shop",
  "x".repeat(20_000),
];

export const stories = [
  [
    "a link lost in the middle of a run loses no line and doubles none",
    async ({ page, context }) => {
      await signIn(page);
      const deployment = await create(page, freshName("offline"));
      const live = page.locator(".live");
      await until("live", async () => (await live.innerText()) === "Live");
      await until(
        "the first step done",
        async () => (await page.locator('.gp [data-st="done"]').count()) > 0,
        RUN,
      );
      for (let cut = 0; cut < 2; cut++) {
        await context.setOffline(true);
        await until("told to be behind", async () =>
          /Reconnecting, \d+ s behind/.test(await live.innerText()),
        );
        if (cut === 0) await picture(page, "reconnecting");
        await page.waitForTimeout(1500);
        await context.setOffline(false);
        await until("live again", async () => (await live.innerText()) === "Live", 30_000);
      }
      await until("ready", async () => (await pill(page).innerText()) === "Ready", RUN);
      const { steps } = await api(page, `/deployments/${deployment.id}/runs/1`);
      const shown = () =>
        page
          .locator(".gp [data-step]")
          .evaluateAll((all) => all.map((one) => `${one.dataset.step} ${one.dataset.st}`).sort());
      const wanted = steps.map((step) => `${step.key} ${step.status}`).sort();
      await until(
        "steps as the API has them",
        async () => JSON.stringify(await shown()) === JSON.stringify(wanted),
      );
      await compareLogs(page, deployment.id, 1);
      await cleanUp(page, deployment.id);
    },
  ],
  [
    "cancel asks first, undoes, and says so live; the list follows by itself",
    async ({ page, context }) => {
      await signIn(page);
      const list = await context.newPage();
      await list.goto("/deployments");
      await until("list is live", async () => (await list.locator(".live").innerText()) === "Live");
      const deployment = await create(page, freshName("cancel"));
      const row = list.locator(`[data-id="${deployment.id}"]`);
      await row.waitFor();
      await page.getByRole("button", { name: "Cancel and undo" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Stop and undo" }).click();
      await until(
        "canceled",
        async () => /Canceled|Removed/.test(await pill(page).innerText()),
        RUN,
      );
      await until(
        "the list says so too",
        async () => (await row.count()) === 0 || /Canceled|Removed/.test(await row.innerText()),
      );
      // promise: N-253
      const { status } = await api(page, `/deployments/${deployment.id}`);
      check(["canceled", "removed"].includes(status), `the API says ${status}`);
    },
  ],
  [
    "hostile log lines create no element and run nothing",
    async ({ page }) => {
      await signIn(page);
      const deployment = await create(page, freshName("hostile"));
      const at = new Date().toISOString();
      await page.route("**/steps/*/log*", async (route) => {
        const after = Number(new URL(route.request().url()).searchParams.get("after") ?? 0);
        const step = route.request().url().split("/steps/")[1].split("/")[0];
        const items = hostile
          .map((text, i) => ({ run: 1, step, number: i + 1, at, text }))
          .filter((line) => line.number > after);
        await route.fulfill({ json: { items, more: false } });
      });
      await page.reload();
      const step = page.locator(".gp [data-step]").last();
      await step.click();
      await until("the lines", async () => (await page.locator(".log .ln").count()) >= 6);
      const inside = await page
        .locator(".log .ln *")
        .evaluateAll((all) => [...new Set(all.map((one) => one.tagName))].sort());
      same(inside, ["SPAN"], "elements inside of lines");
      const ran = await page.evaluate(() => ({
        hacked: "hacked" in window,
        titled: document.title.includes("title"),
        made: document.querySelectorAll("iframe, img").length,
      }));
      same(ran, { hacked: false, titled: false, made: 0 }, "what the lines did");
      const text = await page.locator(".logs").innerText();
      for (const wanted of [hostile[0], hostile[1], "<U+202E>", "\u240d", "[secret]"])
        check(text.includes(wanted), `“${wanted}” is not shown as text`);
      for (const bad of ["\u202e", "\u2066", "\u0007", "\u001b"])
        check(!text.includes(bad), "a control character reached the page");
      await picture(page, "hostile-log");
      await page.unroute("**/steps/*/log*");
      await cleanUp(page, deployment.id);
    },
  ],
  [
    "a session that ends while the page is open leads to sign-in",
    async ({ page, context }) => {
      await signIn(page);
      await until("live", async () => (await page.locator(".live").innerText()) === "Live");
      await context.clearCookies();
      await page.reload();
      await page.waitForURL(/\/sign-in\?next=/);
    },
  ],
];
