// The container engine of the node itself, asked past NullOps: what really runs, and what it wrote.
import { request } from "node:http";
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

/** Stops the processes of a service where they are; gives back what lets them go on. */
export async function freeze(deployment, step) {
  const id = await containerOf(deployment, step);
  await ask("POST", `/containers/${id}/pause`);
  // What stays unhealthy is started anew by its node: then that container is gone.
  return () =>
    ask("POST", `/containers/${id}/unpause`).catch((error) => {
      if (!/answered (404|409)/.test(error.message)) throw error;
    });
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
