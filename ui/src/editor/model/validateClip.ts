import { isKey } from "./edit";

/** What has to be in a clipboard for its steps to be drawn. The server judges the rest. */
type Shape =
  | "text"
  | "name"
  | "number"
  | "bool"
  | "any"
  | { list: Shape }
  | { map: Shape }
  | { of: Record<string, Shape>; needs?: string[] };

const spot: Shape = { of: { x: "number", y: "number" }, needs: ["x", "y"] };
const resources: Shape = { of: { cpu: "number", memory_mib: "number" } };
const words: Shape = { list: "text" };
const probe: Record<string, Shape> = { port: "number", path: "text", status: "number" };

const container: Record<string, Shape> = {
  name: "text",
  entrypoint: words,
  command: words,
  env: { map: "text" },
  ports: {
    list: { of: { name: "text", port: "number", expose: "bool" }, needs: ["name", "port"] },
  },
  volumes: {
    list: {
      of: { name: "text", path: "text", read_only: "bool", shared: "text", stays: "bool" },
      needs: ["name", "path"],
    },
  },
  files: { list: { of: { path: "text", content: "text" }, needs: ["path", "content"] } },
  resources,
  gpus: { of: { count: "number", device_ids: words, vram_mib: "number" } },
  user: "text",
  init: "bool",
  stop_signal: "text",
  stop_grace_seconds: "number",
  tmpfs: { list: { of: { path: "text", size_mib: "number" }, needs: ["path"] } },
  extra_hosts: {
    list: { of: { name: "text", address: "text" }, needs: ["name", "address"] },
  },
  read_only: "bool",
};

const service: Shape = {
  needs: ["name"],
  of: {
    ...container,
    ready: {
      of: {
        http: { of: probe, needs: ["port", "path"] },
        tcp: { of: probe, needs: ["port"] },
        command: words,
        image: "bool",
        interval_seconds: "number",
        timeout_seconds: "number",
        retries: "number",
        start_period_seconds: "number",
      },
    },
    restart: "text",
  },
};

const job: Shape = {
  needs: ["name"],
  of: {
    ...container,
    timeout_seconds: "number",
    tests: { of: { junit: "text", failed: "text" }, needs: ["junit"] },
  },
};

const plugin: Shape = {
  needs: ["name"],
  of: {
    name: "text",
    parameters: { map: "any" },
    secrets: { map: "text" },
    timeout_seconds: "number",
    resources,
    network: "bool",
  },
};

const approval: Shape = {
  needs: ["prompt"],
  of: {
    prompt: "text",
    fields: {
      list: {
        needs: ["name", "type"],
        of: { name: "text", label: "text", type: "text", choices: words, required: "bool" },
      },
    },
    teams: words,
    users: words,
    timeout_seconds: "number",
  },
};

const script: Shape = {
  needs: ["source"],
  of: {
    source: "text",
    parameters: { map: "any" },
    secrets: { map: "text" },
    outputs: { map: "any" },
  },
};

const step: Shape = {
  needs: ["key"],
  of: { key: "name", needs: words, position: spot, service, job, plugin, approval, script },
};
const comment: Shape = { needs: ["text"], of: { text: "text", position: spot, steps: words } };

/** Where a clip is not as it has to be, such as steps[0].service.env.PORT; undefined when it is. */
export function findInvalidField(clip: {
  steps: unknown[];
  comments: unknown[];
}): string | undefined {
  return inList(clip.steps, step, "steps") ?? inList(clip.comments, comment, "comments");
}

function inList(all: unknown[], shape: Shape, at: string): string | undefined {
  return first(all.map((one, i) => () => findMismatch(one, shape, `${at}[${i}]`)));
}

function findMismatch(value: unknown, shape: Shape, at: string): string | undefined {
  if (typeof shape === "string") return fits(value, shape) ? undefined : at;
  if ("list" in shape) return Array.isArray(value) ? inList(value, shape.list, at) : at;
  if (!value || typeof value !== "object" || Array.isArray(value)) return at;
  const parts = Object.entries(value).filter(([, part]) => part !== undefined);
  if ("map" in shape)
    return first(
      parts.map(
        ([key, part]) =>
          () =>
            findMismatch(part, shape.map, `${at}.${key}`),
      ),
    );
  const missing = shape.needs?.find((key) => !Object.hasOwn(value, key));
  if (missing) return `${at}.${missing}`;
  return first(
    parts.map(
      ([key, part]) =>
        () =>
          findMismatch(part, shapeOfField(shape.of, key), `${at}.${key}`),
    ),
  );
}

/** Unknown fields, such as “constructor”, are left to the server. */
function shapeOfField(of: Record<string, Shape>, key: string): Shape {
  return Object.hasOwn(of, key) ? (of[key] as Shape) : "any";
}

function fits(value: unknown, shape: string): boolean {
  if (shape === "any") return true;
  if (shape === "name") return typeof value === "string" && isKey(value);
  if (shape === "number") return typeof value === "number" && Number.isFinite(value);
  return typeof value === (shape === "text" ? "string" : "boolean");
}

function first(asks: (() => string | undefined)[]): string | undefined {
  for (const ask of asks) {
    const found = ask();
    if (found !== undefined) return found;
  }
  return undefined;
}
