import { editorTexts } from "@/editor/editorTexts";
import { type Container, containerOf, containerPath, type Step } from "./document";
import { isKey } from "./edit";

const t = editorTexts.problem;
type Fail = (field: string, code: string, message: string) => void;
type Given = { field: string; value: unknown };

/** The bounds are those of the API's description: what is outside of them the server does not read. */
export function checkBounds(step: Step, fail: Fail) {
  const { job, plugin, approval } = step;
  const container = containerOf(step);
  const at = containerPath(step);
  const whole = (least: number, most: number, ...all: Given[]) =>
    all
      .filter((one) => !isWhole(one.value, least, most))
      .forEach(({ field }) => {
        fail(field, "range", t.whole(least, most));
      });
  for (const { field, value } of namesOf(container, at))
    if (!isKey(value)) fail(field, "name", t.key);
  whole(1, 65_535, ...portsOf(container, at));
  whole(1, 64, { field: `${at}.gpus.count`, value: container?.gpus?.count });
  whole(1, 4_194_304, { field: `${at}.gpus.vram_mib`, value: container?.gpus?.vram_mib });
  if (container?.gpus?.device_ids?.length === 0)
    fail(`${at}.gpus.device_ids`, "required", t.required);
  whole(0, 600, { field: `${at}.stop_grace_seconds`, value: container?.stop_grace_seconds });
  const { interval_seconds, timeout_seconds, retries, start_period_seconds } =
    step.service?.ready ?? {};
  whole(1, 3600, { field: "service.ready.interval_seconds", value: interval_seconds });
  whole(1, 3600, { field: "service.ready.timeout_seconds", value: timeout_seconds });
  whole(1, 10_000, { field: "service.ready.retries", value: retries });
  whole(0, 86_400, { field: "service.ready.start_period_seconds", value: start_period_seconds });
  whole(1, 86_400, { field: "job.timeout_seconds", value: job?.timeout_seconds });
  if (job?.tests?.junit === "") fail("job.tests.junit", "required", t.required);
  whole(1, 86_400, { field: "plugin.timeout_seconds", value: plugin?.timeout_seconds });
  whole(1, 300, { field: "script.timeout_seconds", value: step.script?.timeout_seconds });
  whole(1, 2_592_000, { field: "approval.timeout_seconds", value: approval?.timeout_seconds });
  checkLimits(container ? at : "plugin", (container ?? plugin)?.resources, fail);
}

function checkLimits(
  kind: string,
  resources: { cpu?: unknown; memory_mib?: unknown } = {},
  fail: Fail,
) {
  const { cpu, memory_mib } = resources;
  if (cpu !== undefined && !(typeof cpu === "number" && cpu >= 0 && cpu <= 1024))
    fail(`${kind}.resources.cpu`, "range", t.number(0, 1024));
  if (!isWhole(memory_mib, 0, 16_777_216))
    fail(`${kind}.resources.memory_mib`, "range", t.whole(0, 16_777_216));
}

/** What is not set is the standard. */
function isWhole(value: unknown, least: number, most: number): boolean {
  return value === undefined || (Number.isInteger(value) && isWithin(Number(value), least, most));
}

function isWithin(value: number, least: number, most: number): boolean {
  return value >= least && value <= most;
}

function namesOf(container: Container | undefined, at: string): { field: string; value: string }[] {
  return (["ports", "volumes"] as const).flatMap((list) =>
    (container?.[list] ?? []).map(({ name }, i) => ({
      field: `${at}.${list}[${i}].name`,
      value: name,
    })),
  );
}

function portsOf(container: Container | undefined, at: string): Given[] {
  const { http, tcp } = container?.ready ?? {};
  return [
    ...(container?.ports ?? []).map(({ port }, i) => ({
      field: `${at}.ports[${i}].port`,
      value: port,
    })),
    { field: "service.ready.http.port", value: http?.port },
    { field: "service.ready.tcp.port", value: tcp?.port },
  ];
}
