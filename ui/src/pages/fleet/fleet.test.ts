import { describe, expect, it } from "vitest";
import type { Deployment, NodeInfo, Schemas } from "@/api/client";
import type { MetricPoint, Metrics } from "@/api/queries/usage";
import { sumMetrics } from "./sumMetrics";
import { findTroubles, type Known } from "./troubles";

const NOW = Date.parse("2026-11-22T12:00:00Z");
const ago = (minutes: number) => new Date(NOW - minutes * 60_000).toISOString();
const GIB = 1024 ** 3;

const node = (more: Partial<NodeInfo> = {}): NodeInfo => ({
  name: "fra-01",
  environment: "qa",
  address: "10.20.4.14:5000",
  status: "online",
  since: ago(60),
  enabled: true,
  revocation_pending: false,
  allocated: {},
  deployments: 1,
  build: "1.0",
  vitals: { at: ago(0), cpu: 1, memory_used: GIB, disk_free: 20 * GIB },
  ...more,
});

const well: Known = { nodes: [node()], deployments: [], queue: [], backup: ago(60), build: "1.0" };
const said = (known: Partial<Known>) =>
  findTroubles({ ...well, ...known }, NOW).map((one) => one.what);
const deployment = (status: string) => ({ status }) as Deployment;
const checks = (...all: Schemas["NodeCheck"][]) =>
  ({ checks: all }) as unknown as NodeInfo["inventory"];

describe("what needs a person in the fleet", () => {
  it("is nothing while all is well", () => {
    expect(said({})).toEqual([]);
    expect(said({ nodes: [node({ status: "disabled", build: "0.1" })] })).toEqual([]);
  });

  it("names a node that is not heard, and does not judge what it said before", () => {
    const silent = { status: "offline", build: "0.9", vitals: undefined } as const;
    expect(said({ nodes: [node(silent)] })).toEqual(["fra-01 is offline"]);
    expect(said({ nodes: [node({ status: "untrusted" })] })[0]).toMatch(/nobody approved/);
  });

  it("names failed checks, little disk, another version, a drain over its time", () => {
    const failed = checks(
      { id: "clock", severity: "ok", detail: "" },
      { id: "swap", severity: "warning", detail: "Swap is on.", remedy: "Turn it off." },
      { id: "isolation", severity: "critical", detail: "Not isolated.", remedy: "Set iptables." },
    );
    const found = findTroubles(
      { ...well, nodes: [node({ inventory: failed, blocked: "x" })] },
      NOW,
    );
    expect(found.map(({ state, what, remedy }) => [state, what, remedy])).toEqual([
      ["failed", "fra-01 fails the check “Isolation”", "Set iptables."],
      ["warn", "fra-01 fails the check “swap”", "Turn it off."],
    ]);
    const full = { at: ago(0), cpu: 1, memory_used: 1, disk_free: GIB / 2 };
    expect(said({ nodes: [node({ vitals: full })] })[0]).toMatch(/disk left, below its floor of 1/);
    const own = { settings: { disk_floor_mib: 30 * 1024 } };
    expect(said({ nodes: [node(own)] })[0]).toMatch(/below its floor of 3/);
    expect(said({ nodes: [node({ build: "0.9" })] })).toEqual(["fra-01 runs 0.9; this is 1.0"]);
    const drain = { status: "overdue", since: ago(90), by: "ada", deadline: ago(30) } as const;
    expect(said({ nodes: [node({ drain })] })).toEqual(["fra-01 should be drained by now"]);
  });

  it("counts what failed or is stuck, and the longest wait", () => {
    const deployments = ["failed", "ready", "failed", "stuck"].map(deployment);
    expect(said({ deployments })).toEqual(["2 deployments failed", "1 deployment stuck"]);
    const item = (minutes: number) => ({ queued_at: ago(minutes) }) as Schemas["QueueItem"];
    expect(said({ queue: [item(2), item(29)] })).toEqual([]);
    expect(said({ queue: [item(2), item(45)] })).toEqual(["2 runs wait, the first for 45 min"]);
  });

  it("says how old the last backup is once two nights are missed, and judges nothing unread", () => {
    expect(said({ backup: ago(47 * 60) })).toEqual([]);
    expect(said({ backup: ago(72 * 60) })).toEqual(["The last backup was 3 d ago"]);
    expect(said({ backup: null })).toEqual(["No backup of this installation is known"]);
    expect(said({ backup: undefined, build: undefined, queue: undefined })).toEqual([]);
  });

  it("names what nobody could find out, after all else", () => {
    const inventory = checks(
      { id: "clock", severity: "unknown", detail: "Nobody answers." },
      { id: "swap", severity: "warning", detail: "Swap is on." },
    );
    expect(said({ nodes: [node({ inventory })] })).toEqual([
      "fra-01 fails the check “swap”",
      "fra-01 reports no result for its check “Clock”",
    ]);
  });

  it("names certificates that end, orders that fail and keys that are missing, and where", () => {
    const certificate = (name: string, days: number) =>
      ({ name, hosts: ["*.qa"], not_after: ago(-days * 24 * 60) }) as Schemas["Certificate"];
    const ordered = (state: string, days: number, wanted = true) =>
      ({
        subject: `${state} ${wanted}`,
        names: [state],
        wanted,
        state,
        not_after: ago(-days * 24 * 60),
        error: `${state} it is`,
      }) as Schemas["OrderedCertificate"];
    const key = (name: string, present: boolean, values: number) =>
      ({ name, present, values }) as Schemas["MasterKey"];
    const found = findTroubles(
      {
        ...well,
        certificates: [certificate("new", 30), certificate("soon", 5), certificate("over", -2)],
        orders: [
          {
            environment: "qa",
            certificates: [
              ordered("valid", 60),
              ordered("failing", 10),
              ordered("expired", -1),
              ordered("failing", 10, false),
            ],
          },
        ],
        keys: [key("k1", true, 9), key("k2", false, 0), key("k3", false, 3)],
      },
      NOW,
    );
    expect(found.map(({ state, what, where }) => [state, what, where])).toEqual([
      ["failed", "The certificate over expired 2 d ago", { page: "certificates" }],
      ["failed", "No certificate could be obtained for expired", { environment: "qa" }],
      ["failed", "The master key k3 is missing, and 3 values can't be opened", { page: "keys" }],
      ["warn", "The certificate soon expires in 5 d", { page: "certificates" }],
      ["warn", "No certificate could be obtained for failing", { environment: "qa" }],
    ]);
  });

  it("puts nodes out of reach first, and what is only worth a look last", () => {
    const nodes = [node({ build: "0.9" }), node({ name: "b", status: "offline" })];
    expect(said({ nodes, deployments: [deployment("failed")] })).toEqual([
      "b is offline",
      "1 deployment failed",
      "fra-01 runs 0.9; this is 1.0",
    ]);
  });
});

describe("the use of several nodes", () => {
  const point = (at: string, cpu: number): MetricPoint => ({
    at,
    cpu,
    cpu_max: cpu,
    memory: cpu,
    memory_max: cpu,
    disk_free: cpu,
    net_in: 0,
    net_out: 0,
    disk_read: 0,
    disk_written: 0,
  });
  const metrics = (...points: MetricPoint[]): Metrics => ({
    from: ago(10),
    to: ago(0),
    resolution: "raw",
    series: [{ points }],
  });
  const seconds = (minutes: number, s: number) => new Date(NOW - minutes * 60_000 + s * 1000);
  const at = (minutes: number, s: number) => seconds(minutes, s).toISOString();

  it("adds up each node's mean per minute, wherever in it they measured", () => {
    const sum = sumMetrics(
      [
        metrics(point(at(5, 1), 1), point(at(5, 31), 3), point(at(4, 1), 2)),
        metrics(point(at(5, 17), 10)),
      ],
      NOW,
    );
    expect(sum?.series[0]?.points.map((one) => [one.at, one.cpu])).toEqual([
      [at(5, 0), 12],
      [at(4, 0), 2],
    ]);
  });

  it("leaves out the minute that is not over, and knows nothing of no node", () => {
    expect(sumMetrics([metrics(point(at(0, 1), 1))], NOW + 30_000)?.series[0]?.points).toEqual([]);
    expect(sumMetrics([], NOW)).toBeUndefined();
  });
});
