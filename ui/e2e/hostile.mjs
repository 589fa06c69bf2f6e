// Words that nobody here chose: what a plugin fails with, what an image says of itself, what a service writes.
import { api, freshName, picture, RUN, same, send, signIn, until } from "./browser.mjs";
import { cleanUp } from "./main.mjs";
import { serveTags } from "./registry.mjs";

/** What would load and run, close what is around it, colour, rename the window, and turn its line around. */
const WORDS =
  "<img src=x onerror=window.hacked=1></td></div><script>window.hacked=1</script>" +
  " \u001b[31mred\u001b[0m \u001b]0;hacked\u0007 safe\u202egnp.exe \u2066hidden\u2069";

/** Text and nothing but text; what would turn a line around is drawn as a picture of itself. */
async function harmless(page, where) {
  const text = () => page.locator("body").innerText();
  await until(`the words on ${where}`, async () => (await text()).includes("<img src=x"));
  const did = await page.evaluate(() => ({
    made: document.querySelectorAll("img, #root script, .sheet script").length,
    hacked: "hacked" in window || document.title.includes("hacked"),
  }));
  same(did, { made: 0, hacked: false }, `what the words did on ${where}`);
  const said = await text();
  const raw = ["\u202e", "\u2066", "\u2069", "\u001b", "\u0007"].filter((one) =>
    said.includes(one),
  );
  same(raw, [], `control characters on ${where}`);
}

async function shows(page, path) {
  await page.goto(path);
  await harmless(page, path);
}

/** A project with one step; what is made of it has ended when this is over. */
async function made(page, name, step, status) {
  await send(page, "PUT", `/projects/${name}`, { resources: { memory_mib: 128 } });
  await send(page, "PUT", `/projects/${name}/pipeline`, { pipeline: { steps: [step] } });
  const body = { name, project: name, environment: "qa", versions: {} };
  const { id } = await send(page, "POST", "/deployments", body);
  const read = async () => (await api(page, `/deployments/${id}`)).status === status;
  await until(`it is ${status}`, read, RUN);
  return id;
}

/** The address it asks in vain is in its reason to fail, and in its log. */
const fails = () => ({
  key: "ask",
  needs: [],
  plugin: {
    name: "http-check",
    parameters: { url: `http://127.0.0.1:9/${WORDS}`, retries: 1, interval_seconds: 0 },
  },
});

/** A shell that writes the words once, and stays. */
const writes = (service) => ({
  key: "talk",
  needs: [],
  service: {
    name: service,
    command: ["-c", 'printf "%s\\n" "$SAID"; exec sleep 3600'],
    env: { SAID: WORDS },
    resources: { memory_mib: 32 },
  },
});

async function cleared(page, id, ...parts) {
  if (id) await cleanUp(page, id);
  for (const path of parts) await send(page, "DELETE", path).catch(() => undefined);
}

export const stories = [
  [
    "a plugin that fails with hostile words: they are text on every page that tells of it",
    async ({ page }) => {
      const name = freshName("vile");
      let id;
      await signIn(page);
      try {
        id = await made(page, name, fails(), "failed");
        for (const tab of ["run", "capsule"]) await shows(page, `/d/${id}/${tab}`);
        await shows(page, `/deployments?q=${name}`);
        await page.goto(`/d/${id}/run`);
        await page.locator('.gp [data-step="ask"]').click();
        await page.locator(".log .ln").first().waitFor();
        await harmless(page, "the step's log");
        await picture(page, "hostile-failure");
      } finally {
        await cleared(page, id, `/projects/${name}`);
      }
    },
  ],
  [
    "a service that writes hostile lines: they are text among its logs and in the capsule",
    async ({ page }) => {
      const name = freshName("talks");
      let id;
      await signIn(page);
      try {
        const image = { registry: "local", image: "bases/shell", tag_mode: "pinned", tag: "1" };
        await send(page, "PUT", `/services/${name}`, image);
        id = await made(page, name, writes(name), "ready");
        await page.goto(`/d/${id}/logs`);
        const lines = page.getByRole("log").locator(".ln");
        await lines.first().waitFor({ timeout: RUN });
        await harmless(page, "the logs of a service");
        const inside = await page
          .getByRole("log")
          .locator(".ln *")
          .evaluateAll((all) => [...new Set(all.map((one) => one.tagName))]);
        const drawn = inside.filter((tag) => !["SPAN", "TIME", "A", "BUTTON"].includes(tag));
        same(drawn, [], "elements inside of lines");
        await picture(page, "hostile-service-log");
        await shows(page, `/d/${id}/capsule`);
      } finally {
        await cleared(page, id, `/projects/${name}`, `/services/${name}`);
      }
    },
  ],
  [
    "an image whose labels are hostile: its branch is text where versions are chosen",
    async ({ page }) => {
      const name = freshName("labels");
      const at = new Date().toISOString();
      const own = await serveTags(new Map([["v1", { at, branch: WORDS, commit: WORDS }]]));
      await signIn(page);
      try {
        await send(page, "PUT", `/registries/${name}`, { host: own.host, insecure: true });
        const of = { registry: name, image: "x/labels", tag_mode: "selectable", tag: "v1" };
        await send(page, "PUT", `/services/${name}`, of);
        await send(page, "PUT", `/projects/${name}`, { resources: { memory_mib: 64 } });
        const service = { name, resources: { memory_mib: 32 } };
        const steps = [{ key: "web", needs: [], service }];
        await send(page, "PUT", `/projects/${name}/pipeline`, { pipeline: { steps } });
        await page.goto(`/deployments/new?project=${name}&env=qa`);
        await page.locator('button.in[data-step="web"]').click();
        await page.getByRole("option").first().waitFor();
        await harmless(page, "the list of versions");
        await picture(page, "hostile-label");
      } finally {
        own.close();
        await cleared(page, undefined, ...[`/projects/${name}`, `/services/${name}`]);
        await send(page, "DELETE", `/registries/${name}`).catch(() => undefined);
      }
    },
  ],
];
