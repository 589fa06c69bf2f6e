// The container engine of the node itself, asked past NullOps: what really runs, and what it wrote.
import { request } from "node:http";
import { kill } from "node:process";
import { check } from "./browser.mjs";

/** A request to the engine; its answer's bytes. */
function ask(method, path) {
  const docker = process.env.NULLOPS_TEST_DOCKER;
  check(docker, "NULLOPS_TEST_DOCKER says where the engine is; `make test` sets it");
  const socketPath = docker.replace(/^unix:\/\//, "");
  return new Promise((done, fail) => {
    const asked = request({ socketPath, method, path }, async (response) => {
      const parts = [];
      for await (const part of response) parts.push(part);
      const body = Buffer.concat(parts);
      if (response.statusCode < 300) done(body);
      else fail(new Error(`${method} ${path} answered ${response.statusCode}: ${body}`));
    });
    asked.on("error", fail).end();
  });
}

/** The container of a deployment's service. */
async function containerOf(deployment, step) {
  const label = [`nullops.deployment=${deployment}`, `nullops.step=${step}`];
  const filters = encodeURIComponent(JSON.stringify({ label }));
  const all = JSON.parse(await ask("GET", `/containers/json?filters=${filters}`));
  check(all.length === 1, `${all.length} containers of ${step} run`);
  return all[0].Id;
}

/**
 * Stops the processes of a service where they are; gives back what lets them go on. Pausing the
 * container would not do: to its node a paused container does not run, so it is started anew, often
 * before anybody has seen that it was unhealthy.
 */
export async function freeze(deployment, step) {
  const id = await containerOf(deployment, step);
  const { Titles, Processes } = JSON.parse(await ask("GET", `/containers/${id}/top`));
  const pids = Processes.map((line) => Number(line[Titles.indexOf("PID")]));
  check(pids.length > 0 && pids.every((pid) => pid > 1), `no processes of ${step}: ${pids}`);
  for (const pid of pids) kill(pid, "SIGSTOP");
  return () => {
    for (const pid of pids) kill(pid, "SIGCONT");
  };
}

/** The lines that a service has written so far, as the engine keeps them. */
export async function written(deployment, step) {
  const id = await containerOf(deployment, step);
  const said = await ask("GET", `/containers/${id}/logs?stdout=1&stderr=1`);
  let text = "";
  // Each piece has a head of eight bytes, whose last four say how long it is.
  for (let at = 0; at < said.length; ) {
    const end = at + 8 + said.readUInt32BE(at + 4);
    text += said.subarray(at + 8, end);
    at = end;
  }
  return text.split("\n").filter(Boolean);
}
