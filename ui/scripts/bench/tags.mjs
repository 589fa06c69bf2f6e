import { serveTags } from "../../e2e/registry.mjs";
import { percentile, round } from "./frames.mjs";
import { small } from "./rows.mjs";

const TAGS = small ? 500 : 20_000;
const TIMES = small ? 3 : 20;
const STEP = "web";

/** A service whose registry has so many tags, and a project of it. */
async function prepare(page, send, name) {
  const at = new Date().toISOString();
  const all = Array.from({ length: TAGS }, (_, i) => [`v1.${i}.0-main`, { at, branch: "main" }]);
  const own = await serveTags(new Map(all));
  await send(page, "PUT", `/registries/${name}`, { host: own.host, insecure: true });
  const of = { registry: name, image: "shop/web", tag_mode: "selectable" };
  await send(page, "PUT", `/services/${name}`, of);
  await send(page, "PUT", `/projects/${name}`, { resources: { memory_mib: 128 } });
  const steps = [{ key: STEP, needs: [], service: { name, resources: { memory_mib: 64 } } }];
  await send(page, "PUT", `/projects/${name}/pipeline`, { pipeline: { steps } });
  return async () => {
    for (const kind of ["projects", "services", "registries"])
      await send(page, "DELETE", `/${kind}/${name}`);
    own.close();
  };
}

/** From the press on the field to the first tag painted, in ms, with nothing kept in the page. */
async function once(page, url) {
  await page.goto(url);
  const field = page.locator(`button.in[data-step="${STEP}"]`);
  await page.getByRole("button", { name: `Version of ${STEP}: v1.` }).waitFor();
  await page.evaluate(() => {
    const after = new MessageChannel();
    let pressed;
    window.took = new Promise((done) => {
      after.port1.onmessage = () => done(performance.now() - pressed);
    });
    const press = () => {
      pressed = performance.now();
    };
    window.addEventListener("pointerdown", press, { capture: true, once: true });
    const watch = new MutationObserver(() => {
      if (!document.querySelector("[role=option]")) return;
      watch.disconnect();
      requestAnimationFrame(() => after.port2.postMessage(0));
    });
    watch.observe(document.body, { subtree: true, childList: true });
  });
  await field.click();
  return page.evaluate(() => window.took);
}

/** A tag picker over twenty thousand tags, which the control plane has read before. */
export async function tags({ page, front, send }) {
  const name = "bench-tags";
  const leave = await prepare(page, send, name);
  try {
    const took = [];
    const url = `${front.url}/deployments/new?project=${name}`;
    await once(page, url);
    for (let i = 0; i < TIMES; i++) took.push(await once(page, url));
    return [
      {
        id: "tag_picker",
        what: `Tag picker over ${TAGS.toLocaleString("en")} tags, from the press to the first one, p95 of ${TIMES}`,
        value: round(percentile(took, 95)),
        unit: "ms",
        target: "≤ 300 ms",
        met: percentile(took, 95) <= 300,
        median: round(percentile(took, 50)),
      },
    ];
  } finally {
    await page.goto(`${front.url}/account`);
    await leave();
  }
}
