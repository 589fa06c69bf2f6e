// Made-up answers for working on the interface without a control plane. Not shipped, not tested with.
const uuid = (n) => `01937c1e-8a40-7000-8000-${String(n).padStart(12, "0")}`;
const past = (seconds) => new Date(Date.now() - seconds * 1000).toISOString();

const graph = [
  ["postgres", "service", "postgres 16.4-bookworm", [], 4],
  ["create-db", "plugin", "postgres-database 1.6.2", ["postgres"], 1],
  ["redis", "service", "redis 7.4.1-alpine", [], 2],
  ["mail", "service", "mail main-77f1b20", ["redis"], 3],
  ["sql-schema", "plugin", "sql-script 2.3.0", ["create-db"], 3],
  ["sql-seed", "plugin", "sql-script 2.3.0", ["sql-schema"], 8],
  ["api", "service", "api feat-cart-redesign-9ae41c2", ["sql-seed", "redis", "postgres"], 5],
  ["web", "service", "web feat-cart-redesign-51d0e7b", ["api"], 4],
  ["http-check", "plugin", "http-check 1.1.0", ["web", "mail"], 2],
];

export function makeSteps(run, statusOf) {
  return graph.map(([key, kind, title, needs, usual], i) => {
    const status = statusOf(key, i);
    const started = !["pending", "skipped"].includes(status);
    const ended = ["done", "failed", "undone"].includes(status);
    return {
      run,
      key,
      position: i + 1,
      kind,
      title,
      needs,
      status,
      usual_seconds: usual,
      lines: 0,
      started_at: started ? past(200 - i * 8) : undefined,
      ended_at: ended ? past(200 - i * 8 - usual) : undefined,
      inputs:
        kind === "plugin"
          ? { database: "shop", connection: "${{ steps.create-db.outputs.connectionString }}" }
          : undefined,
      outputs:
        kind === "plugin" && status === "done"
          ? { connectionString: "[secret]", rows: 212400 }
          : undefined,
    };
  });
}

const versions = [
  ["postgres", "pinned", "16.4-bookworm"],
  ["redis", "pinned", "7.4.1-alpine"],
  ["mail", "selectable", "main-77f1b20"],
  ["api", "selectable", "feat-cart-redesign-9ae41c2"],
  ["web", "selectable", "feat-cart-redesign-51d0e7b"],
].map(([step, tag_mode, tag]) => ({
  step,
  service: step,
  image: `registry.example/shop-${step}`,
  tag_mode,
  tag,
  digest: `sha256:${"ab".repeat(32)}`,
}));

export function services(name, environment, health) {
  return [
    ["postgres", 5432],
    ["redis", 6379],
    ["mail", 8080],
    ["api", 8080],
    ["web", 8080],
  ].map(([step, port]) => ({
    step,
    health,
    restarts: 0,
    ports: [{ name: "main", port, exposed: port === 8080 }],
    url: port === 8080 ? `http://${step}.${name}.${environment}.localhost:8081` : undefined,
  }));
}

let count = 0;
export function makeDeployment(name, status, { chosen = {}, ...more } = {}) {
  const environment = more.environment ?? "qa-eu";
  count++;
  return {
    id: uuid(count),
    name,
    project: "shop",
    environment,
    status,
    revision: 1,
    node: "fra-02",
    pipeline_version: 15,
    run: 1,
    steps_done: status === "ready" ? 9 : status === "applying" ? 5 : 3,
    steps_total: 9,
    usual_seconds: 100,
    versions: versions.map((one) => ({ ...one, tag: chosen[one.step] ?? one.tag })),
    services: services(name, environment, status === "ready" ? "healthy" : "starting"),
    created_by: "jonas.lindqvist",
    created_at: past(count * 400),
    changed_at: past(count * count * 40),
    level: "full",
    ...more,
  };
}

export const deployments = [
  makeDeployment("checkout-address-autocomplete-fallback", "failed", {
    failure: {
      step: "http-check",
      code: "http_status",
      message:
        "asked web for /healthz 12 times; the last answer was 503 “cart schema 41 expected, found 40”.",
    },
    created_by: "priya.raman",
    services: [],
  }),
  makeDeployment("ledger-double-entry", "stuck", {
    project: "ledger",
    environment: "payments",
    left: ["network nullops-0193", "user ledger@auth-2"],
    failure: {
      code: "left",
      message: "keycloak-user could not be deleted on auth-2: 1 user is left.",
    },
  }),
  makeDeployment("search-relevance-b", "ready", {
    environment: "qa-us",
    node: "ams-03",
    node_offline_since: past(3600),
    created_by: "aiko.tanaka",
  }),
  makeDeployment("cart-redesign", "applying", { detail: "sql-seed" }),
  makeDeployment("pr-4188-vat-rounding", "queued", { project: "billing" }),
  makeDeployment("onboarding-kyc-retry", "undoing", {
    project: "onboarding",
    detail: "canceled by mira.okafor",
  }),
  makeDeployment("load-2026w46", "removing", { environment: "qa-us" }),
  ...[
    "release-2026-47",
    "gift-cards-partial-refund",
    "invoice-pdf-a11y",
    "sso-okta-groups",
    "search-relevance-a",
    "returns-portal-v2",
    "perf-baseline",
    "catalog-import-20k-sku",
  ].map((name) => makeDeployment(name, "ready", { created_by: "lena.hoffmann" })),
];

export const environments = ["qa-eu", "qa-us", "payments"].map((name, i) => ({
  name,
  domain: "localhost",
  url_suffix: `${name}.localhost:8081`,
  scheme: "http",
  restricted: i === 2,
  nodes: 2,
  nodes_online: i === 1 ? 0 : 2,
  can_create: true,
}));

const projectService = (step, tag_mode, tag) => ({
  step,
  service: step,
  image: `registry.example/shop-${step}`,
  tag_mode,
  tag,
  pattern: tag_mode === "selectable" ? "feat-*" : undefined,
});
export const projects = [
  {
    name: "shop",
    description: "The web shop with its basket and mail",
    resources: { cpu: 2.5, memory_mib: 3072 },
    pipeline_version: 15,
    deployments: 12,
    can_create: true,
    services: [
      projectService("postgres", "pinned", "16.4-bookworm"),
      projectService("redis", "pinned", "7.4.1-alpine"),
      projectService("mail", "selectable", "main-77f1b20"),
      projectService("api", "selectable"),
      projectService("web", "selectable"),
    ],
  },
  {
    name: "ledger",
    resources: { cpu: 1, memory_mib: 1024 },
    deployments: 1,
    can_create: false,
    services: [],
  },
];

export const pipeline = {
  version: 15,
  created_at: past(86400 * 3),
  created_by: "mira.okafor",
  digest: `sha256:${"cd".repeat(32)}`,
  note: "Seed waits for the schema",
  pipeline: {
    format: 1,
    order: graph.map((s) => s[0]),
    steps: graph.map(([key, kind, title, needs]) => ({
      key,
      needs,
      ...(kind === "service"
        ? {
            service: {
              name: key,
              image: {
                registry: "registry.example",
                repository: `shop-${key}`,
                tag: title.split(" ")[1],
                tag_mode: "pinned",
              },
              env: { DATABASE_URL: "${{ steps.create-db.outputs.connectionString }}" },
              ports: [{ name: "main", port: 8080, expose: ["web", "api", "mail"].includes(key) }],
              resources: { cpu: 0.5, memory_mib: 512 },
            },
          }
        : {
            plugin: {
              name: title.split(" ")[0],
              parameters: { script: "schema.sql", timeout: 30 },
              secrets: { password: "${{ secrets.SHOP_DB }}" },
            },
          }),
    })),
  },
};

export const nodes = [
  ["fra-01", "online"],
  ["fra-02", "online"],
  ["fra-04", "untrusted"],
  ["ams-03", "offline"],
  ["ber-01", "enrolled"],
].map(([name, status], i) => ({
  name,
  environment: i === 3 ? "qa-us" : "qa-eu",
  address: `10.20.4.${11 + i}:5000`,
  status,
  since: past(1200 * (i + 1)),
  enabled: true,
  revocation_pending: i === 3,
  status_detail: status === "offline" ? "No answer for 15 s. Trying every 15 s." : undefined,
  thumbprint:
    status === "enrolled"
      ? undefined
      : "78db9b4934d2cac8f52f4f582e21220e0a25cd9d94291e2171a0b8728da95867",
  pending_thumbprint:
    status === "untrusted"
      ? "365d86006dc50d2085408b22630954639ea4944bbeaa2c66acc0c69f7f6c5b07"
      : undefined,
  pending_proof_valid: status === "untrusted" ? true : undefined,
  build: status === "enrolled" ? undefined : "0.1.0",
  inventory:
    status === "enrolled"
      ? undefined
      : {
          hostname: name,
          os: "Debian 12.8",
          kernel: "6.1.0-27",
          arch: "amd64",
          engine_version: "27.3.1",
          api_version: "1.47",
          cpu: 16,
          memory: 64e9,
          disk: 960e9,
          runc_version: "1.2.5",
          cgroup_version: "2",
          cgroup_driver: "systemd",
          storage_driver: "overlay2",
          disks: [{ holds: "images and containers", path: "/var/lib/docker", size: 960e9 }],
          gpus: i === 0 ? [{ id: "0", model: "NVIDIA L4", memory: 24e9 }] : [],
          checks: [
            { id: "engine", severity: "ok", detail: "Docker Engine 27.3.1 answers." },
            {
              id: "isolation",
              severity: "ok",
              detail: "Containers of different networks did not reach each other.",
            },
            {
              id: "live-restore",
              severity: i === 0 ? "warning" : "ok",
              detail: "live-restore is off: a restart of the engine restarts every service.",
              remedy: 'Put "live-restore": true into /etc/docker/daemon.json.',
            },
          ],
          warnings:
            i === 0 ? ["live-restore is off: restarting Docker stops every service here."] : [],
        },
  vitals:
    status === "online"
      ? { at: past(2), cpu: 3.2, memory_used: 31e9, disk_free: 412e9 }
      : undefined,
  allocated: { cpu: 4.5, memory_mib: 9000 },
  deployments: i,
}));

export function tags(search) {
  const all = Array.from({ length: 1840 }, (_, i) => {
    const word = ["cart-redesign", "cart-undo", "vat", "search-b", "mobile"][i % 5];
    return {
      tag:
        i % 7 === 0
          ? `v1.${1840 - i}.0`
          : `feat-${word}-${((i * 7919 + 0x51d0e7b) >>> 0).toString(16).slice(-7)}`,
      created_at: past(840 + i * 5000),
      size: 88e6,
    };
  });
  const found = all.filter((t) => t.tag.includes(search));
  return { all, found };
}

/** Curves from then until now; a node has one series without a step. */
export function metrics(from, steps) {
  const begin = from ? new Date(from).getTime() : Date.now() - 3.6e6;
  const width = Math.max(5000, (Date.now() - begin) / 400);
  const points = (size) =>
    Array.from({ length: 400 }, (_, i) => {
      const cpu = size * (1 + Math.sin(i / 25) + Math.sin(i / 3) / 4);
      return {
        at: new Date(begin + i * width).toISOString(),
        cpu: Math.max(0, cpu),
        cpu_max: Math.max(0, cpu * 1.3),
        memory: size * 8e9 + i * 1e6,
        memory_max: size * 9e9 + i * 1e6,
        disk_free: 412e9 - i * 1e7,
        net_in: 2e6 * Math.abs(Math.sin(i / 9)),
        net_out: 5e5 * Math.abs(Math.cos(i / 9)),
        disk_read: 0,
        disk_written: 1e5,
      };
      // Some of them never came.
    }).filter((_, i) => i < 210 || i > 250);
  return {
    from: new Date(begin).toISOString(),
    to: new Date().toISOString(),
    resolution: "raw",
    series: steps.map((step, i) => ({ step, points: points(step ? 0.05 * (i + 1) : 3) })),
  };
}
