import { expect, it } from "vitest";
import type { NodeInfo } from "@/api/client";
import { machineTexts } from "@/pages/nodes/machineTexts";
import { nodeBody, settingProblems, settingValues } from "./nodeSettings";

const t = machineTexts.form;

const node = (settings?: NodeInfo["settings"]) =>
  ({ environment: "qa", address: "10.20.4.14:5000", settings }) as NodeInfo;

const full: NodeInfo["settings"] = {
  labels: { zone: "fra", ssd: "" },
  taints: [
    { key: "gpu", value: "l40s", effect: "no_schedule" },
    { key: "slow", effect: "prefer_no_schedule" },
  ],
  run_limit: 3,
  require_vram_hint: true,
  reactive: true,
};

it("shows settings as people write them, and sends the same back", () => {
  const values = settingValues(node(full));
  expect(values).toMatchObject({
    labels: "ssd\nzone=fra",
    taints: "gpu=l40s:no_schedule\nslow:prefer_no_schedule",
    run_limit: "3",
    priority: "",
  });
  expect(settingProblems(values)).toEqual({});
  expect(nodeBody(values, node(full))).toEqual({
    environment: "qa",
    address: "10.20.4.14:5000",
    settings: { ...full, disk_floor_mib: 0, priority: 0 },
  });
});

it("keeps a node without an address one whose agent connects", () => {
  const behind = { ...node(full), address: "", connect: "agent" } as NodeInfo;
  const values = settingValues(behind);
  expect(settingProblems(values)).toEqual({});
  const sent = nodeBody(values, behind);
  expect(sent.connect).toBe("agent");
  expect(sent.address).toBeUndefined();
  expect(settingProblems({ ...values, agent_connects: false }).address).toBe(t.addressMissing);
});

it("empties what was emptied", () => {
  const values = { ...settingValues(node(full)), labels: " \n", taints: "", run_limit: "" };
  expect(nodeBody(values, node(full)).settings).toMatchObject({
    labels: {},
    taints: [],
    run_limit: 0,
  });
});

it("names the line that is wrong", () => {
  const values = settingValues(node());
  const said = (change: Partial<typeof values>) => settingProblems({ ...values, ...change });
  expect(said({ labels: "zone=fra\nzone = ams" }).labels).toBe(t.labelWrong("zone = ams"));
  expect(said({ labels: "zone=fra\nzone=ams" }).labels).toBe(t.twice("zone"));
  expect(said({ labels: "-a" }).labels).toBe(t.labelWrong("-a"));
  expect(said({ taints: "gpu" }).taints).toBe(t.taintWrong("gpu"));
  expect(said({ taints: "gpu:never" }).taints).toBe(t.taintWrong("gpu:never"));
  expect(said({ run_limit: "1001" }).run_limit).toBe(t.number(1000));
  expect(said({ priority: "low" }).priority).toBe(t.number(255));
  expect(said({ address: "10.20.4.14" }).address).toBe(t.addressMissing);
  expect(said({ address: "wss://proxy.example.org/node-7" }).address).toBeUndefined();
});
