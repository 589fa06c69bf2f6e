import type { NodeInfo, Schemas } from "@/api/client";
import { fromLines, onlyProblems, toLines, toNumber } from "@/forms/formValues";
import { machineTexts } from "@/pages/nodes/machineTexts";

const t = machineTexts.form;

type Settings = Schemas["NodeSettings"];
type Taint = Schemas["Taint"];

/** A label as people write it: "zone=fra", or just "ssd". */
export const labelLines = (labels: Settings["labels"]): string[] =>
  Object.entries(labels ?? {})
    .map(([key, value]) => (value ? `${key}=${value}` : key))
    .sort();

export const taintLine = ({ key, value, effect }: Taint): string =>
  `${key}${value ? `=${value}` : ""}:${effect}`;

/** What the form's fields show of a node. */
export const settingValues = ({ address, connect, settings }: NodeInfo) => ({
  address,
  agent_connects: connect === "agent",
  labels: toLines(labelLines(settings?.labels)),
  taints: toLines((settings?.taints ?? []).map(taintLine).sort()),
  run_limit: countText(settings?.run_limit),
  disk_floor_mib: countText(settings?.disk_floor_mib),
  priority: countText(settings?.priority),
  require_vram_hint: settings?.require_vram_hint ?? false,
  reactive: settings?.reactive ?? false,
});
export type SettingValues = ReturnType<typeof settingValues>;

/** 0 is what the server takes for a setting that was not made. */
const countText = (count: number | undefined) => (count ? String(count) : "");

// The grammar of labels, as the server holds them to it.
const WORD = "[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?";
const LABEL = new RegExp(`^(${WORD})(?:=(${WORD})?)?$`);
const ADDRESS = /.:\d+$|^wss?:\/\/./;
const TAINT = new RegExp(`^(${WORD})(?:=(${WORD})?)?:(no_schedule|prefer_no_schedule)$`);

/** All that a node's form sends: settings that are left out would go back to their defaults. */
export function nodeBody(
  values: SettingValues,
  { environment, template }: NodeInfo,
): Schemas["NodePut"] {
  return {
    environment,
    template,
    ...(values.agent_connects ? { connect: "agent" as const } : { address: values.address.trim() }),
    settings: {
      labels: Object.fromEntries(labelsIn(values.labels)),
      taints: taintsIn(values.taints),
      run_limit: toNumber(values.run_limit) ?? 0,
      disk_floor_mib: toNumber(values.disk_floor_mib) ?? 0,
      priority: toNumber(values.priority) ?? 0,
      require_vram_hint: values.require_vram_hint || undefined,
      reactive: values.reactive || undefined,
    },
  };
}

/** Keys and values of the lines that are labels. */
function labelsIn(text: string): [string, string][] {
  return (fromLines(text) ?? []).flatMap((line) => {
    const [, key, value] = LABEL.exec(line) ?? [];
    return key ? [[key, value ?? ""] as [string, string]] : [];
  });
}

function taintsIn(text: string): Taint[] {
  return (fromLines(text) ?? []).flatMap((line) => {
    const [, key, value, effect] = TAINT.exec(line) ?? [];
    return key ? [{ key, value, effect: effect as Taint["effect"] }] : [];
  });
}

/** What can be said of the fields before the server is asked. */
export function settingProblems(values: SettingValues) {
  return onlyProblems({
    address:
      values.agent_connects || ADDRESS.test(values.address.trim()) ? undefined : t.addressMissing,
    labels: wrongLine(values.labels, LABEL, t.labelWrong) ?? duplicateKey(values.labels),
    taints: wrongLine(values.taints, TAINT, t.taintWrong),
    run_limit: wrongNumber(values.run_limit, 1000),
    disk_floor_mib: wrongNumber(values.disk_floor_mib, 67_108_864),
    priority: wrongNumber(values.priority, 255),
  });
}

function wrongLine(text: string, pattern: RegExp, says: (line: string) => string) {
  const line = (fromLines(text) ?? []).find((one) => !pattern.test(one));
  return line === undefined ? undefined : says(line);
}

/** A second value of one key would silently take the place of the first. */
function duplicateKey(text: string) {
  const keys = labelsIn(text).map(([key]) => key);
  const key = keys.find((one, at) => keys.indexOf(one) !== at);
  return key && t.twice(key);
}

function wrongNumber(text: string, most: number) {
  const count = toNumber(text) ?? 0;
  return count <= most ? undefined : t.number(most);
}
