/** Fields of steps as people call them. What people named themselves, such as a variable, stays as it is. */
const words: Record<string, string> = {
  address: "address",
  count: "number",
  created_by: "made by",
  cpu: "CPU in cores",
  device_ids: "ids",
  expose: "open to browsers",
  extra_hosts: "host name",
  files: "file",
  gpus: "GPUs",
  http: "HTTP",
  image: "",
  interval_seconds: "seconds between tries",
  memory_mib: "memory in MiB",
  needs: "runs after",
  ports: "port",
  read_only: "read-only root",
  ready: "readiness",
  resources: "",
  retries: "tries",
  size_mib: "size in MiB",
  start_period_seconds: "seconds that do not count",
  stop_grace_seconds: "seconds to end",
  status: "state",
  stop_signal: "signal to end",
  tag_mode: "choice of the tag",
  tcp: "TCP",
  timeout_seconds: "timeout in seconds",
  tmpfs: "folder in memory",
  volumes: "volume",
  vram_mib: "GPU memory in MiB",
};

/** Below these, people gave the names. */
const named: Record<string, string> = {
  env: "variable",
  input: "input",
  outputs: "output",
  parameters: "parameter",
  secrets: "secret",
};

const KINDS = new Set(["service", "job", "plugin", "script", "approval"]);

/** A field of a step, as a comparison names it: "variable GREETING", "memory in MiB", "readiness HTTP path". */
export function sayField(path: string): string {
  const [first = "", ...below] = path.split(".");
  const [head = "", ...rest] = KINDS.has(first) && below.length > 0 ? below : [first, ...below];
  if (named[head] && rest.length > 0) return `${named[head]} ${rest.join(".")}`;
  return [head, ...rest]
    .map((part) => words[part] ?? part.replaceAll("_", " "))
    .filter(Boolean)
    .join(" ");
}

/** A field of a deployment: the step that it belongs to, if to one, and what it is called. */
export function splitField(path: string): { step?: string; field: string } {
  const [root, step, ...field] = path.split(".");
  if (root !== "steps" && root !== "versions") return { field: sayField(path) };
  const below = field.join(".");
  return { step, field: sayField(below) || below };
}
