import { expect, it } from "vitest";
import { startTexts } from "@/pages/start/startTexts";
import type { StartState } from "./startStep";
import { progress, startSteps } from "./steps";

// As the first migration leaves it: nobody added these.
const builtins = ["docker.io", "ghcr.io"].map(
  (host) => ({ name: host, host, builtin: true }) as StartState["registries"][number],
);

const nothing: StartState = {
  password: undefined,
  keys: [],
  registries: builtins,
  environments: [],
  nodes: [],
  services: [],
  projects: [],
  deployments: [],
};

const step = (key: string, world: Partial<StartState>) =>
  startSteps({ ...nothing, ...world }).find((one) => one.key === key);

const done = (world: Partial<StartState>) =>
  startSteps({ ...nothing, ...world })
    .filter((step) => step.done)
    .map((step) => step.key);

it("begins with nothing done and a way on at every step but the last", () => {
  const steps = startSteps(nothing);
  expect(done({})).toEqual([]);
  expect(steps.slice(0, -1).every((step) => step.way)).toBe(true);
  expect(steps.at(-1)?.way).toBeUndefined();
});

it("is computed from what exists, so it resumes wherever it was left", () => {
  const node = { name: "fra-01", status: "online" } as StartState["nodes"][number];
  expect(done({ nodes: [node] })).toEqual(["node"]);
  const project = { name: "shop" } as StartState["projects"][number];
  expect(step("project", { projects: [project] })).toMatchObject({
    done: false,
    way: { kind: "pipeline", project: "shop" },
  });
  expect(done({ projects: [{ ...project, pipeline_version: 1 }] })).toEqual(["project"]);
});

it("sends a failed first deployment to its page, and a ready one to its URL", () => {
  const base = { id: "1", name: "first", services: [], changed_at: "" };
  const failed = { ...base, status: "failed" } as unknown as StartState["deployments"][number];
  expect(step("deployment", { deployments: [failed] })).toMatchObject({
    done: false,
    state: "failed",
    way: { kind: "deployment", id: "1" },
  });
  const ready = {
    ...base,
    status: "ready",
    services: [{ step: "web", health: "healthy", url: "http://web.first.qa.localhost" }],
  } as unknown as StartState["deployments"][number];
  expect(step("open", { deployments: [failed, ready] })?.done).toBe(false);
  expect(step("open", { deployments: [ready], visited: true })?.done).toBe(true);
  expect(step("open", { deployments: [failed], visited: true })?.done).toBe(false);
  expect(step("open", { deployments: [failed, ready] })).toMatchObject({
    way: { kind: "url", url: "http://web.first.qa.localhost" },
  });
});

it("says of each state of a node what it waits for, and leads there", () => {
  const at = (status: string, more = {}) =>
    ({ name: "fra-01", address: "10.0.0.1:5000", status, ...more }) as StartState["nodes"][number];
  expect(step("node", {})).toMatchObject({ way: { to: "/nodes", add: true } });
  const states = { enrolled: "wait", offline: "wait", untrusted: "stuck", disabled: "stuck" };
  for (const [status, state] of Object.entries({ ...states, incompatible: "stuck" })) {
    const found = step("node", { nodes: [at(status, { status_detail: "its reason" })] });
    expect(found).toMatchObject({ done: false, state, way: { to: "/nodes/fra-01" } });
    expect(found?.text).toBe(`${startTexts.steps.node.states[status]?.("fra-01")} its reason`);
  }
  const seen = at("untrusted", { pending_thumbprint: "ab" });
  expect(step("node", { nodes: [at("disabled"), seen] })?.parts?.map((one) => one.done)).toEqual([
    true,
    false,
    false,
  ]);
});

it("counts what is done, and the minutes that are left", () => {
  const key = { name: "k1", present: true, primary: true } as StartState["keys"][number];
  const before = { password: false, keys: [key] };
  expect(progress(startSteps({ ...nothing, ...before }))).toEqual({ done: 1, all: 9, minutes: 12 });
  expect(progress(startSteps(nothing)).all).toBe(8);
  expect(done({ ...before, password: true })).toEqual(["password", "key"]);
});

it("takes the public registries for a place of images only once a service has one there", () => {
  const t = startTexts.steps.registry;
  expect(step("registry", {})).toMatchObject({
    done: false,
    text: t.known(["docker.io", "ghcr.io"]),
    way: { to: "/registries", add: true },
    instead: { to: "/services", add: true },
  });
  const own = { name: "own", host: "r.example" } as StartState["registries"][number];
  expect(step("registry", { registries: [...builtins, own] })).toMatchObject({
    done: true,
    text: t.done("r.example"),
  });
  const service = { name: "web", registry: "ghcr.io" } as StartState["services"][number];
  expect(step("registry", { services: [service] })).toMatchObject({
    done: true,
    text: t.done("ghcr.io"),
  });
  expect(step("registry", { registries: [] })).toMatchObject({ text: t.todo, instead: undefined });
});

it("offers the other ways at one step only, while they still help", () => {
  const others = (world: Partial<StartState>) =>
    startSteps({ ...nothing, ...world })
      .filter((one) => one.others)
      .map((one) => one.key);
  const service = { name: "api" } as StartState["services"][number];
  const project = { name: "shop", pipeline_version: 1 } as StartState["projects"][number];
  expect(others({})).toEqual(["service"]);
  expect(others({ services: [service] })).toEqual(["project"]);
  expect(others({ services: [service], projects: [project] })).toEqual([]);
});

it("tells how far a deployment is, and when it asks", () => {
  const t = startTexts.steps.deployment;
  const at = (status: string, more = {}) =>
    ({
      id: "1",
      name: "first",
      services: [],
      status,
      steps_done: 2,
      steps_total: 5,
      ...more,
    }) as unknown as StartState["deployments"][number];
  const says = (one: StartState["deployments"][number]) =>
    step("deployment", { deployments: [one] });
  expect(says(at("applying"))).toMatchObject({ state: "wait", text: t.running("first", 2, 5) });
  expect(says(at("applying", { question: {} }))).toMatchObject({ state: "stuck" });
  expect(says(at("stuck"))).toMatchObject({ state: "stuck", text: t.stuck("first") });
  expect(says(at("canceled"))).toMatchObject({ way: { to: "/deployments/new" } });
});
