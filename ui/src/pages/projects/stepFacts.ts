import type { Schemas } from "@/api/client";
import { formatLimit } from "@/components/quantity";
import { formatDuration } from "@/components/time";
import { editorTexts } from "@/editor/editorTexts";
import { type Container, containerOf, JOB_SECONDS, type Step } from "@/editor/model/document";
import { readTexts } from "@/editor/readTexts";

type Image = Schemas["ImageRef"];

/** One thing about a step, as text. Code is drawn as it is written. */
export type Fact = { name: string; value: string; code?: boolean };

const t = editorTexts.step;
const r = readTexts;

/** Everything that a step says, to read: what the inspector offers to change, and what was filled in. */
export function factsOf(step: Step): Fact[] {
  const { service, job, plugin, approval, script } = step;
  const container = containerOf(step);
  return [
    text(t.needs, step.needs?.join(", ") || r.nothing),
    ...imageOf(container?.image ?? plugin?.image),
    ...(container ? containerFacts(container) : []),
    ...(service ? serviceFacts(service) : []),
    ...(job ? jobFacts(job) : []),
    ...(container ? processFacts(container) : []),
    ...(plugin ? pluginFacts(plugin) : []),
    ...(approval ? approvalFacts(approval) : []),
    ...(script ? entries(script.parameters) : []),
    ...entries(script?.secrets, r.secret),
    code(editorTexts.script, script?.source),
  ].filter((fact) => fact.value !== "");
}

const text = (name: string, value = ""): Fact => ({ name, value });
const code = (name: string, value = ""): Fact => ({ name, value, code: true });
const entries = (all: object | undefined, name = (key: string) => key): Fact[] =>
  Object.entries(all ?? {}).map(([key, value]) => code(name(key), formatValue(value)));

function formatValue(value: unknown): string {
  return typeof value === "string" ? value || r.emptyText : JSON.stringify(value, null, 2);
}

function imageOf(image?: Image): Fact[] {
  if (!image?.repository) return [];
  const at = image.tag ? `:${image.tag}` : image.digest ? `@${image.digest}` : "";
  const chosen = image.tag_mode === "selectable" ? t.selectable(image.pattern ?? "") : "";
  return [code(r.image, `${image.registry}/${image.repository}${at}`), text(r.tag, chosen)];
}

function containerFacts(service: Container): Fact[] {
  return [
    ...(service.ports ?? []).map((port) =>
      text(r.port(port.name), `${port.port}${port.expose ? `, ${r.exposed}` : ""}`),
    ),
    ...entries(service.env),
    ...(service.volumes ?? []).map((one) => text(r.volume(one.name), volumeOf(one))),
    ...(service.files ?? []).map((file) => code(r.file(file.path), file.content)),
    code(r.entrypoint, service.entrypoint?.map(quoteArgument).join(" ")),
    code(r.command, service.command?.map(quoteArgument).join(" ")),
    ...limits(service.resources),
    text(r.gpus, gpusOf(service.gpus)),
  ];
}

function serviceFacts(service: Container): Fact[] {
  return [
    text(t.ready, readyOf(service.ready)),
    text(t.restart, t.restarts[service.restart ?? "always"]),
  ];
}

function jobFacts({ timeout_seconds, tests }: Schemas["JobStep"]): Fact[] {
  return [
    text(r.timeout, formatDuration((timeout_seconds || JOB_SECONDS) * 1000)),
    code(r.tests, tests?.junit),
    text(r.failedTests, tests ? r.failures[tests.failed ?? "fail"] : ""),
  ];
}

function volumeOf(one: NonNullable<Container["volumes"]>[number]): string {
  const { path, stays, read_only, shared } = one;
  const all = [path, read_only ? r.mountReadOnly : "", shared ? r.shared(shared) : ""];
  return [...all, stays ? r.stays : ""].filter(Boolean).join(", ");
}

function processFacts(service: Container): Fact[] {
  const { stop_signal, stop_grace_seconds, tmpfs = [], extra_hosts = [] } = service;
  const grace = stop_grace_seconds ? r.grace(stop_grace_seconds) : "";
  return [
    code(r.user, service.user),
    text(r.init, service.init ? editorTexts.step.yes : ""),
    text(r.readOnlyRoot, service.read_only ? r.mountReadOnly : ""),
    text(r.stop, [stop_signal, grace].filter(Boolean).join(", ")),
    ...tmpfs.map(({ path, size_mib }) =>
      text(r.tmpfs(path), size_mib ? r.size(size_mib) : r.noLimit),
    ),
    ...extra_hosts.map(({ name, address }) => code(r.host(name), address)),
  ];
}

/** An argument of a command, quoted if it contains a space. */
function quoteArgument(one: string): string {
  return /^[\w./:=@%+,-]+$/.test(one) ? one : JSON.stringify(one);
}

function readyOf(ready: Container["ready"]): string {
  const { http, tcp, command, image } = ready ?? {};
  const kinds = t.readyKinds;
  const what = http
    ? `${kinds.http}: ${r.http(http.port, http.path, http.status)}`
    : tcp
      ? `${kinds.tcp}: ${tcp.port}`
      : command?.length
        ? `${kinds.command}: ${command.map(quoteArgument).join(" ")}`
        : image
          ? kinds.image
          : kinds.none;
  return [what, ...readinessTimes(ready)].join(", ");
}

function readinessTimes(ready: Container["ready"]): string[] {
  const { interval_seconds, retries, timeout_seconds, start_period_seconds } = ready ?? {};
  return [
    interval_seconds ? r.every(interval_seconds) : "",
    retries ? r.times(retries) : "",
    timeout_seconds ? r.within(timeout_seconds) : "",
    start_period_seconds ? r.after(start_period_seconds) : "",
  ].filter(Boolean);
}

function gpusOf(gpus: Container["gpus"]): string {
  const which = gpus?.count ? String(gpus.count) : (gpus?.device_ids?.join(", ") ?? "");
  return gpus?.vram_mib ? `${which}, ${formatLimit(gpus.vram_mib)}` : which;
}

function limits(resources?: Schemas["Resources"]): Fact[] {
  const { cpu, memory_mib } = resources ?? {};
  return [
    text(t.cpu, cpu ? String(cpu) : r.noLimit),
    text(t.memory, memory_mib ? String(memory_mib) : r.noLimit),
  ];
}

function pluginFacts(plugin: Schemas["PluginStep"]): Fact[] {
  const { component } = plugin;
  const seconds = plugin.timeout_seconds ?? component?.timeout_seconds;
  const undoes = component?.actions?.includes("delete");
  return [
    ...entries(plugin.parameters),
    ...entries(plugin.secrets, r.secret),
    text(r.timeout, seconds ? formatDuration(seconds * 1000) : ""),
    ...limits(plugin.resources ?? component?.resources),
    text(r.network, (plugin.network ?? component?.network) ? t.yes : t.no),
    text(r.undo, component ? (undoes ? t.canUndo : t.noUndo) : ""),
  ];
}

function approvalFacts(approval: Schemas["ApprovalStep"]): Fact[] {
  const who = [approval.teams, approval.users].map((all) => all?.join(", ") ?? "");
  return [
    code(t.prompt, approval.prompt),
    ...(approval.fields ?? []).map((field) => text(r.field(field.name), fieldText(field))),
    text(r.teams, who[0]),
    text(r.users, who[1]),
    text(r.answers, who.some(Boolean) ? "" : t.answerHint),
    text(r.timeout, formatDuration(approval.timeout_seconds * 1000)),
  ];
}

function fieldText(field: Schemas["ApprovalField"]): string {
  const kind = field.type === "choice" ? (field.choices ?? []).join(" / ") : field.type;
  const first = field.default === undefined ? "" : r.byDefault(formatValue(field.default));
  return [field.label, kind, field.required ? t.required : "", first].filter(Boolean).join(", ");
}
