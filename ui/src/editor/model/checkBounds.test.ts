import { expect, it } from "vitest";
import { checkBounds } from "./checkBounds";
import type { Step } from "./document";

const wrong = (step: unknown): string[] => {
  const found: string[] = [];
  checkBounds(step as Step, (field) => found.push(field));
  return found;
};

it("tells what the server would not even read", () => {
  const service = {
    name: "web",
    ports: [
      { name: "HTTP", port: 0 },
      { name: "http", port: 65_536 },
    ],
    volumes: [{ name: "my data", path: "/data" }],
    resources: { cpu: "abc", memory_mib: 1.5 },
    ready: { http: { port: 0, path: "/" }, interval_seconds: -1 },
    gpus: { count: 0, vram_mib: -1 },
    stop_grace_seconds: 601,
  };
  expect(wrong({ key: "web", service })).toEqual([
    "service.ports[0].name",
    "service.volumes[0].name",
    "service.ports[0].port",
    "service.ports[1].port",
    "service.ready.http.port",
    "service.gpus.count",
    "service.gpus.vram_mib",
    "service.stop_grace_seconds",
    "service.ready.interval_seconds",
    "service.resources.cpu",
    "service.resources.memory_mib",
  ]);
  const plugin = { name: "sql", timeout_seconds: "a", resources: { cpu: -1 } };
  expect(wrong({ key: "a", plugin })).toEqual(["plugin.timeout_seconds", "plugin.resources.cpu"]);
  expect(wrong({ key: "a", approval: { prompt: "?", timeout_seconds: 0 } })).toHaveLength(1);
});

it("has nothing against what is right, or not set", () => {
  const service = {
    name: "web",
    ports: [{ name: "http", port: 65_535 }],
    resources: { cpu: 0, memory_mib: 64 },
    ready: { tcp: { port: 1 } },
  };
  expect(wrong({ key: "web", service })).toEqual([]);
  expect(wrong({ key: "a", plugin: { name: "sql" } })).toEqual([]);
});
