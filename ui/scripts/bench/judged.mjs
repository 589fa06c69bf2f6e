import { createServer } from "node:net";
import { chromium } from "playwright-core";
import { api, base, freshName, RUN, until } from "../../e2e/browser.mjs";
import { create } from "../../e2e/main.mjs";
import { proxy } from "./proxy.mjs";

const PLACE = new URL("../../../tools/lighthouse/node_modules/lighthouse/", import.meta.url);
const wanted = { performance: 95, accessibility: 100, "best-practices": 95 };

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Lighthouse, as on a desktop, of the list, the create sheet and a deployment: the median of three. */
export async function judged({ context, page, front }) {
  const { default: lighthouse } = await import(new URL("core/index.js", PLACE).href);
  const { default: desktop } = await import(new URL("core/config/desktop-config.js", PLACE).href);
  await page.goto(`${front.url}/deployments`);
  const made = await create(page, freshName("judged"));
  await until(
    "ready",
    async () => (await api(page, `/deployments/${made.id}`)).status === "ready",
    RUN,
  );
  const cookie = (await context.cookies()).map((one) => `${one.name}=${one.value}`).join("; ");
  const signedIn = await proxy(base, cookie);
  const port = await freePort();
  const browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", `--remote-debugging-port=${port}`],
  });
  const results = [];
  try {
    for (const [name, path] of [
      ["list", "/deployments"],
      ["create", "/deployments/new"],
      ["deployment", `/d/${made.id}/run`],
    ]) {
      const scores = [];
      for (let i = 0; i < 3; i++) {
        const { lhr } = await lighthouse(
          `${signedIn.url}${path}`,
          {
            port,
            output: "json",
            logLevel: "error",
            onlyCategories: Object.keys(wanted),
            maxWaitForLoad: 15_000,
          },
          desktop,
        );
        scores.push(lhr);
      }
      for (const [category, least] of Object.entries(wanted)) {
        const all = scores
          .map((one) => Math.round(one.categories[category].score * 100))
          .sort((a, b) => a - b);
        const faults = Object.values(scores[0].audits)
          .filter((audit) => audit.score !== null && audit.score < 0.9)
          .filter((audit) =>
            scores[0].categories[category].auditRefs.some(
              (ref) => ref.id === audit.id && ref.weight > 0,
            ),
          )
          .map((audit) => audit.id);
        results.push({
          id: `lighthouse_${name}_${category}`,
          what: `Lighthouse, ${name} page, ${category}`,
          value: all[1],
          unit: "",
          target: least === 100 ? "100" : `≥ ${least}`,
          met: all[1] >= least,
          faults,
        });
      }
    }
  } finally {
    await browser.close();
    signedIn.close();
    await page.evaluate(
      (url) => fetch(url, { method: "DELETE" }),
      `/api/v1/deployments/${made.id}`,
    );
  }
  return results;
}
