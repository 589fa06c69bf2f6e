// Zero faults of axe-core on what the ingress says by itself: who is not there yet, gone, unknown, or asks for a pass.
import { api, check, freshName, same, send, signIn, until } from "./browser.mjs";
import { fits, looked } from "./looks.mjs";
import { cleanUp } from "./main.mjs";

/** A service behind a question: it has a URL, and does not answer there. */
async function waits(page, name) {
  await send(page, "PUT", `/projects/${name}`, { resources: { memory_mib: 128 } });
  const ports = [{ name: "http", port: 8080, expose: true }];
  const service = { name: "shop-web", ports, resources: { memory_mib: 64 } };
  const steps = [
    { key: "go", needs: [], approval: { prompt: "Shall it go on?" } },
    { key: "web", needs: ["go"], service },
  ];
  await send(page, "PUT", `/projects/${name}/pipeline`, { pipeline: { steps } });
  return send(page, "POST", "/deployments", { name, project: name, environment: "qa" });
}

/** A page of the ingress: a status of its own, a heading, and nothing that axe or a phone finds. */
async function seen(tab, name, url, status) {
  await until(name, async () => (await tab.goto(url)).status() === status);
  await tab.getByRole("heading", { level: 1 }).waitFor();
  await looked(tab, name);
  await fits(tab, name, { axe: true });
}

/** What does not run there is named with its version. */
async function saysVersion(tab) {
  const versions = tab.getByRole("region", { name: "Versions" });
  same(await versions.locator("dt").allInnerTexts(), ["web"], "services with a version");
  check(/^\S+/.test(await versions.locator("dd").innerText()), "the version");
}

export const stories = [
  [
    "axe finds nothing on status pages, the guest page and what runs at a host",
    async ({ page, context }) => {
      await signIn(page);
      const name = freshName("door");
      const made = await waits(page, name);
      const tab = await context.newPage();
      try {
        const read = () => api(page, `/deployments/${made.id}`);
        const url = await until(
          "its URL",
          async () => (await read()).services.find((one) => one.url)?.url,
        );
        await seen(tab, "a service that is starting", url, 503);
        await saysVersion(tab);
        await seen(tab, "a host that nobody knows", url.replace(name, "nobody-knows"), 404);
        // promise: W-04
        await seen(tab, "what runs at a host", new URL("/.nullops/", url).href, 200);
        await seen(tab, "the page of guest links", new URL("/.nullops/guest", url).href, 200);
        await cleanUp(page, made.id);
        await seen(tab, "a service that is gone", url, 410);
        await saysVersion(tab);
      } finally {
        await tab.close();
        await cleanUp(page, made.id);
        await send(page, "DELETE", `/projects/${name}`).catch(() => undefined);
      }
    },
  ],
];
