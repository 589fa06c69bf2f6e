// Live data: a link that breaks, lines that lie.
import {
  api,
  check,
  freshName,
  loseLink,
  picture,
  RUN,
  same,
  send,
  signIn,
  until,
} from "./browser.mjs";
import { cleanUp, compareLogs, create, pill } from "./main.mjs";
import { serve } from "./registry.mjs";

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

/** A project whose one step asks an address in vain, a line each second. */
async function patient(page) {
  const name = freshName("patient");
  await send(page, "PUT", `/projects/${name}`, { resources: { memory_mib: 128 } });
  const parameters = { url: "http://127.0.0.1:9/", retries: 60, interval_seconds: 1 };
  const steps = [{ key: "ask", needs: [], plugin: { name: "http-check", parameters } }];
  await send(page, "PUT", `/projects/${name}/pipeline`, { pipeline: { steps } });
  return name;
}

/** Nothing is loaded again and the step goes on, yet there are more lines each time. */
async function grows(page) {
  const step = page.locator('.gp [data-step="ask"]');
  await step.click();
  const lines = page.locator(".log .ln");
  for (const wanted of [1, 3, 5]) {
    await until(`${wanted} lines`, async () => (await lines.count()) >= wanted, RUN);
    // promise: N-281
    same(await step.getAttribute("data-st"), "running", "the step that writes");
  }
}

/** A project of one service, whose image comes piece by piece; it goes with the story. */
async function slow(page) {
  const [name, own] = [freshName("pull"), await serve("shop/web", "v1.1.0")];
  const of = { registry: name, image: "shop/web", tag_mode: "selectable", tag: "large" };
  await send(page, "PUT", `/registries/${name}`, { host: own.host, insecure: true });
  await send(page, "PUT", `/services/${name}`, of);
  await send(page, "PUT", `/projects/${name}`, { resources: { memory_mib: 128 } });
  const service = { name, resources: { memory_mib: 64 } };
  const steps = [{ key: "web", needs: [], service }];
  await send(page, "PUT", `/projects/${name}/pipeline`, { pipeline: { steps } });
  const leave = async () => {
    own.close();
    for (const kind of ["projects", "services", "registries"])
      await send(page, "DELETE", `/${kind}/${name}`).catch(() => undefined);
  };
  return { name, release: own.release, leave };
}

/** A link is down for some seconds in the middle of a pull, of which more comes meanwhile. */
async function pulls(page, context, release) {
  const step = page.locator('.gp [data-step="web"]');
  const pulled = async () => {
    const [, number, unit] = /(\d[\d.]*) ([kM]B)\s*of \d/.exec(await step.innerText()) ?? [
      0,
      0,
      "MB",
    ];
    return Number(number) * (unit === "kB" ? 0.001 : 1);
  };
  // The engine tells the first bytes of what comes at once, and the rest with what comes next.
  // promise: I-02
  await until("bytes of the pull", async () => (await pulled()) > 0, RUN);
  const before = await pulled();
  await loseLink(page);
  release();
  const st = () => step.getAttribute("data-st");
  await until("nobody knows how it goes", async () => (await st()) === "unknown");
  same(await pulled(), 0, "bytes told without a link");
  await picture(page, "pull-without-a-link");
  await context.setOffline(false);
  // promise: N-099
  await until(`more than ${before} MB`, async () => (await pulled()) > before + 1, RUN);
  // A busy node pulls the image ahead of the step's turn for a while.
  await until("the step that pulls", async () => (await st()) === "pulling");
  release();
}

export const stories = [
  [
    "a link lost in the middle of a pull comes back to more bytes of it, unknown meanwhile",
    async ({ page, context }) => {
      await signIn(page);
      const project = await slow(page);
      const deployment = await create(page, freshName("pulled"), project.name);
      try {
        await pulls(page, context, project.release);
      } finally {
        await context.setOffline(false);
        await cleanUp(page, deployment.id);
        await project.leave();
      }
    },
  ],
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
        await loseLink(page);
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
    "a step's log grows while the step is at work",
    async ({ page }) => {
      await signIn(page);
      const project = await patient(page);
      const deployment = await create(page, freshName("grows"), project);
      try {
        await grows(page);
      } finally {
        await cleanUp(page, deployment.id);
        await send(page, "DELETE", `/projects/${project}`);
      }
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
        .locator(".log .ln .tx *")
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
    "hostile words in what people may name create no element, run nothing and turn no line around",
    async ({ page }) => {
      await signIn(page);
      const name = freshName("words");
      let made;
      try {
        await hostileWords(page, name);
        made = await create(page, freshName("worded"), name);
        const asks = async () => (await api(page, `/deployments/${made.id}`)).question;
        await until("it waits for an answer", asks, RUN);
        await send(page, "PUT", `/deployments/${made.id}/hold`, { reason: WORDS });
        // Not before: a new deployment would be offered to it.
        await send(page, "PUT", `/environments/${name}`, {
          domain: "localhost",
          description: WORDS,
        });
        for (const path of placesOf(name, made.id)) await harmless(page, path);
        for (const path of ["/deployments", "/urls", "/audit"]) await harmless(page, path, false);
        await picture(page, "hostile-words");
        await send(page, "DELETE", `/deployments/${made.id}/hold`);
      } finally {
        if (made) await cleanUp(page, made.id);
        for (const kind of ["teams", "users", "projects", "services", "registries", "environments"])
          await send(page, "DELETE", `/${kind}/${name}`).catch(() => undefined);
      }
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

/** What would load, run, and write the rest of its line from right to left. */
const WORDS = "<img src=x onerror=window.hacked=1> safe\u202egnp.exe";

/** One of each thing that a text of people's own choice can be put on. */
async function hostileWords(page, name) {
  const put = (kind, body) => send(page, "PUT", `/${kind}/${name}`, body);
  const description = WORDS;
  await put("registries", { host: `${name}.invalid`, description });
  await put("services", {
    registry: "local",
    image: "shop/web",
    tag_mode: "selectable",
    description,
  });
  await put("projects", { resources: { memory_mib: 64 }, description });
  const steps = [{ key: "go", needs: [], approval: { prompt: WORDS } }];
  await send(page, "PUT", `/projects/${name}/pipeline`, { pipeline: { steps } });
  await put("users", { role: "user", display_name: WORDS, password: "correct-horse-battery-9" });
  await put("teams", { members: [name], grants: [{ project: name, level: "read" }], description });
}

/** Where they are read. */
function placesOf(name, id) {
  const lists = ["users", "teams", "projects", "environments", "services", "registries"];
  return [
    `/d/${id}/run`,
    `/d/${id}/history`,
    `/d/${id}/capsule`,
    ...lists.map((one) => `/${one}?q=${name}`),
  ];
}

/** Text and nothing but text; what would turn a line around is drawn as a picture of itself. */
async function harmless(page, path, shows = true) {
  await page.goto(path);
  const text = () => page.locator("body").innerText();
  if (shows) await until(`the words on ${path}`, async () => (await text()).includes("<img src=x"));
  else await page.locator("h1").first().waitFor();
  const did = await page.evaluate(() => ({
    made: document.querySelectorAll("img").length,
    hacked: "hacked" in window,
  }));
  same(did, { made: 0, hacked: false }, `what the words did on ${path}`);
  const said = await text();
  check(!said.includes("\u202e"), `a line of ${path} is turned around`);
  check(!shows || said.includes("<U+202E>"), `${path} does not show what turns a line around`);
}
