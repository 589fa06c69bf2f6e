// One trace leads from a click in the browser to the first response of what was deployed.
import { check, same, until } from "./browser.mjs";

/** What was started for the stories collects spans: see tools/demo. */
const collector = process.env.NULLOPS_TEST_TRACES;

/** The traceparent of the next request that creates a deployment. */
export async function parentOfCreate(page) {
  const sent = await page.waitForRequest(
    (one) => one.method() === "POST" && new URL(one.url()).pathname === "/api/v1/deployments",
  );
  return (await sent.headerValue("traceparent")) ?? "";
}

/** Every part of what a click led to is in the click's trace, down to the first response. */
export async function traced(parent, run) {
  check(collector, "nothing collects traces: run the stories with `tools/run demo`");
  const [, trace, click] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-01$/.exec(parent) ?? [];
  check(trace, `the browser's traceparent is “${parent}”`);
  // promise: O-01
  same(run.trace_id, trace, "the run's trace");
  // Spans are sent every few seconds, by each process for itself.
  const parts = ["createDeployment", "sql InsertRun", "wait for room", "agent takes goal"];
  parts.push("step web", "agent start", "agent probe", "first response through the ingress");
  let spans = [];
  // promise: O-01
  await until("the trace is whole", async () => {
    spans = await (await fetch(`${collector}/traces/${trace}`)).json();
    return parts.every((part) => spans.some(({ name }) => name.includes(part)));
  }).catch((error) => {
    const names = spans.map(({ name }) => name);
    const missing = parts.filter((part) => !names.some((name) => name.includes(part)));
    throw new Error(`${error.message}; it lacks ${missing}, and has ${[...new Set(names)]}`);
  });
  const begun = spans.filter((one) => one.parent === click).map(({ name }) => name);
  // promise: O-01
  check(begun.includes("createDeployment"), `what the click asked for is ${begun}`);
}
