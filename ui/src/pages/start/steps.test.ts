import { expect, it } from "vitest";
import { startSteps, type World } from "./steps";

const nothing: World = {
  registries: [],
  environments: [],
  nodes: [],
  services: [],
  projects: [],
  deployments: [],
};

const done = (world: Partial<World>) =>
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
  const node = { name: "fra-01", status: "enrolled" } as World["nodes"][number];
  const waiting = startSteps({ ...nothing, nodes: [node] })[2];
  expect(waiting).toMatchObject({ done: false, waiting: true, way: { to: "/nodes/fra-01" } });
  expect(done({ nodes: [{ ...node, status: "online" }] })).toEqual(["node"]);
  const project = { name: "shop" } as World["projects"][number];
  expect(startSteps({ ...nothing, projects: [project] })[4]).toMatchObject({
    done: false,
    way: { kind: "pipeline", project: "shop" },
  });
  expect(done({ projects: [{ ...project, pipeline_version: 1 }] })).toEqual(["project"]);
});

it("sends a failed first deployment to its page, and a ready one to its URL", () => {
  const base = { id: "1", name: "first", services: [], changed_at: "" };
  const failed = { ...base, status: "failed" } as unknown as World["deployments"][number];
  expect(startSteps({ ...nothing, deployments: [failed] })[5]).toMatchObject({
    done: false,
    waiting: false,
    way: { kind: "deployment", id: "1" },
  });
  const ready = {
    ...base,
    status: "ready",
    services: [{ step: "web", health: "healthy", url: "http://web.first.qa.localhost" }],
  } as unknown as World["deployments"][number];
  expect(startSteps({ ...nothing, deployments: [failed, ready] })[6]).toMatchObject({
    way: { kind: "url", url: "http://web.first.qa.localhost" },
  });
});
