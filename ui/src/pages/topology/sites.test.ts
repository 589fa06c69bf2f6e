import { expect, it } from "vitest";
import type { Deployment, NodeInfo } from "@/api/client";
import { buildSites, onlyTroubles } from "./sites";

const node = (name: string, environment: string, status = "online") =>
  ({ name, environment, status }) as NodeInfo;
const run = (name: string, environment: string, on?: string, status = "ready") =>
  ({ name, environment, node: on, status }) as Deployment;

const nodes = [node("a", "qa"), node("b", "qa", "offline"), node("c", "us")];
const deployments = [
  run("cart", "qa", "a"),
  run("broken", "qa", "a", "failed"),
  run("queued", "qa", undefined, "queued"),
  run("old", "qa", "a", "removed"),
  run("lost", "us", "gone"),
];
const sites = buildSites([{ name: "us" }, { name: "qa" }, { name: "new" }], nodes, deployments);
const drawn = (all: typeof sites) =>
  all.map(({ name, hosts, waiting, troubles }) => [
    name,
    hosts.map((one) => [one.node.name, ...one.deployments.map((run) => run.name)].join(" ")),
    waiting.map((one) => one.name).join(" "),
    troubles,
  ]);

it("puts each deployment on its node, what needs a person first, and leaves out what has ended", () =>
  expect(drawn(sites)).toEqual([
    ["new", [], "", 0],
    ["qa", ["a broken cart", "b"], "queued", 2],
    ["us", ["c"], "lost", 0],
  ]));

it("can show only what needs a person", () =>
  expect(drawn(onlyTroubles(sites))).toEqual([["qa", ["a broken", "b"], "", 2]]));
