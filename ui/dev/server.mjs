// A made-up control plane for working on the interface: node dev/server.mjs, then open :8799.
// It serves dist/ under the strict policy, and a run that never ends. Not shipped, not tested with.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import {
  deployments,
  environments,
  makeDeployment,
  makeSteps,
  metrics,
  nodes,
  pipeline,
  projects,
  services,
  tags,
} from "./data.mjs";

const port = Number(process.env.PORT ?? 8799);
const csp =
  "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'";
const types = {
  html: "text/html; charset=utf-8",
  js: "text/javascript",
  css: "text/css",
  svg: "image/svg+xml",
  woff2: "font/woff2",
};
const person = {
  name: "mira.okafor",
  display_name: "Mira Okafor",
  role: "admin",
  teams: ["storefront"],
  can_create: true,
};

const problem = (res, status, code, detail, more = {}) =>
  send(
    res,
    status,
    {
      type: "about:blank",
      title: code,
      status,
      code,
      detail,
      request_id: "01937c1e-8a40",
      ...more,
    },
    "application/problem+json",
  );
function send(res, status, body, type = "application/json") {
  res.writeHead(status, { "Content-Type": type, "Cache-Control": "no-store" });
  res.end(body === undefined ? "" : JSON.stringify(body));
}

// One simulated clock: a run takes about 40 s, then starts over.
const stages = new Map();
const stageOf = (d) => {
  const start = stages.get(d.id) ?? stages.set(d.id, Date.now() - 5 * 4000).get(d.id);
  return Math.min(9, Math.floor((Date.now() - start) / 4000));
};
const stepsOf = (d) =>
  makeSteps(d.run, (key, i) => {
    if (d.status === "ready" || d.status === "removing" || d.status === "removed") return "done";
    if (d.status === "failed") return key === "http-check" ? "failed" : "undone";
    if (d.status === "queued") return "pending";
    const at = stageOf(d);
    return i < at ? "done" : i === at ? (key === "api" ? "pulling" : "running") : "pending";
  });
const words = [
  "connecting to postgres://shop_app:[secret]@postgres:5432/shop",
  "\u001b[32mconnected\u001b[0m, server 16.4",
  "\u001b[34m01_reference.sql\u001b[0m  countries, currencies",
  "  1,184 rows in 1.44 s",
  '<img src=x onerror="document.title=1"> <b>bold</b>',
  '\u001b[33mNOTICE:\u001b[0m index "variants_sku_idx" already exists, skipping',
  "\u001b]0;owned\u0007\u202eevil\u202c ok",
  "  20,000 rows",
];
const line = (d, step, n) => ({
  run: d.run,
  step,
  number: n,
  at: new Date(Date.now() - 40000 + n * 100).toISOString(),
  text: words[n % words.length] + (n > 8 ? ` #${n}` : ""),
  dropped: n === 40 ? 1204 : undefined,
});

function stream(req, res, d) {
  res.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
  let n = Number((req.headers["last-event-id"] ?? "0-0").split("-")[1] ?? 0);
  const put = (event, data, id) =>
    res.write(`${id ? `id: ${id}\n` : ""}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  const tick = () => {
    if (!d && deployments[0].id > "01937c1e-8a40-7000-8000-000000000015")
      put("deployment", { ...deployments[0], revision: Date.now() }, String(Date.now()));
    if (!d)
      return put(
        "deployment",
        { ...deployments[3], steps_done: stageOf(deployments[3]), revision: Date.now() },
        String(Date.now()),
      );
    if (d.status === "applying" && stageOf(d) >= 9)
      Object.assign(d, {
        status: "ready",
        services: services(d.name, d.environment, "healthy"),
        steps_done: 9,
        ready_at: new Date().toISOString(),
      });
    d.revision++;
    put(
      "deployment",
      { ...d, steps_done: stepsOf(d).filter((s) => s.status === "done").length },
      `${d.revision}-${n}`,
    );
    for (const step of stepsOf(d)) put("step", step, `${d.revision}-${n}`);
    const running = stepsOf(d).find((s) => ["running", "pulling"].includes(s.status));
    if (running?.status === "pulling")
      put("progress", {
        run: d.run,
        step: running.key,
        pulled_bytes: 148e6,
        total_bytes: 243e6,
        at: new Date().toISOString(),
      });
    if (running?.status === "running")
      put("progress", {
        run: d.run,
        step: running.key,
        lines: n,
        last_output_at: new Date().toISOString(),
        at: new Date().toISOString(),
      });
    if (running?.key === "sql-seed")
      for (let i = 0; i < 3; i++) put("line", line(d, "sql-seed", ++n), `${d.revision}-${n}`);
  };
  tick();
  const timer = setInterval(tick, 1000);
  req.on("close", () => clearInterval(timer));
}

const body = (req) =>
  new Promise((resolve) => {
    let text = "";
    req.on("data", (c) => {
      text += c;
    });
    req.on("end", () => resolve(text ? JSON.parse(text) : {}));
  });

async function api(req, res, path, query) {
  const parts = path.split("/").slice(3);
  const [kind, id, sub, ...rest] = parts;
  if (kind === "sessions" && req.method === "POST") {
    const given = await body(req);
    if (given.password !== "right")
      return problem(res, 401, "wrong_login", "User name and password do not go together.", {
        remedy: "3 more tries, then a wait of one minute.",
      });
    res.setHeader("Set-Cookie", "nullops_session=made-up; HttpOnly; Path=/");
    return send(res, 201, person);
  }
  if (kind === "sessions") {
    res.setHeader("Set-Cookie", "nullops_session=; Path=/; Max-Age=0");
    return send(res, 204);
  }
  if (!req.headers.cookie?.includes("nullops_session=made-up"))
    return problem(res, 401, "signed_out", "Sign in first.");
  if (kind === "me") return send(res, 200, person);
  if (kind === "events") return stream(req, res, null);
  if (kind === "environments") return send(res, 200, { items: environments });
  if (kind === "services" && sub === "tags") {
    const { all, found } = tags(query.get("search") ?? "");
    const from = Number(query.get("cursor") ?? 0);
    const sorted =
      query.get("order") === "version"
        ? found.toSorted((a, b) => b.tag.localeCompare(a.tag, "en", { numeric: true }))
        : found;
    return send(res, 200, {
      items: sorted.slice(from, from + 200),
      next_cursor: from + 200 < found.length ? String(from + 200) : undefined,
      total: all.length,
      matching: found.length,
      pattern: "feat-*",
      tag_mode: "selectable",
      default: id === "mail" ? "v1.1840.0" : undefined,
      read_at: new Date(Date.now() - 40000).toISOString(),
      stale: id === "api",
      stale_reason: id === "api" ? "registry.example did not answer at 14:58 (429)." : undefined,
    });
  }
  if (kind === "projects") return projectsApi(res, id, sub);
  if (kind === "nodes") return nodesApi(req, res, id, sub, query);
  if (kind !== "deployments")
    return problem(res, 404, "not_found", "There is nothing at this address.");
  return deploymentsApi(req, res, id, sub, rest, query);
}

function projectsApi(res, id, sub) {
  if (!id) return send(res, 200, { items: projects });
  const project = projects.find((p) => p.name === id);
  if (!project) return problem(res, 404, "not_found", "There is no such project.");
  if (sub === "pipeline")
    return project.pipeline_version
      ? send(res, 200, pipeline)
      : problem(res, 404, "not_found", "No pipeline yet.");
  return send(res, 200, project);
}

async function nodesApi(req, res, id, sub, query) {
  const enrol = (node) => ({
    node,
    token: "nop_7Qm3xW9vK2pL8sT4yB6nC1dF5gH0jR_a1b2",
    command: `docker run -d --name nullops-agent --restart unless-stopped -p 5000:5000 \\\n  -v /var/run/docker.sock:/var/run/docker.sock -v nullops-agent:/data -v /run/nullops:/run/nullops \\\n  -e NULLOPS_AGENT_TOKEN=nop_7Qm3xW9vK2pL8sT4yB6nC1dF5gH0jR_a1b2 nullops/nullops:0.1.0 agent`,
  });
  if (!id && req.method === "POST") {
    const given = await body(req);
    const node = {
      ...nodes[4],
      ...given,
      status: "enrolled",
      since: new Date().toISOString(),
      deployments: 0,
      revocation_pending: false,
    };
    nodes.push(node);
    return send(res, 201, enrol(node));
  }
  if (!id) return send(res, 200, { items: nodes });
  const node = nodes.find((n) => n.name === id);
  if (!node) return problem(res, 404, "not_found", "There is no such node.");
  if (sub === "metrics") return send(res, 200, metrics(query.get("from"), [undefined]));
  if (sub === "token" && req.method === "POST") return send(res, 201, enrol(node));
  if (sub === "approve")
    Object.assign(node, {
      status: "online",
      thumbprint: node.pending_thumbprint,
      pending_thumbprint: undefined,
    });
  if (sub === "disable") Object.assign(node, { status: "disabled", enabled: false });
  if (sub === "enable") Object.assign(node, { status: "online", enabled: true });
  return send(res, 200, node);
}

async function deploymentsApi(req, res, id, sub, rest, query) {
  if (!id && req.method === "POST") {
    const given = await body(req);
    if (given.name === "taken")
      return problem(res, 409, "name_taken", "qa-eu has a deployment called taken.", {
        field: "name",
        remedy: "Choose another name, or delete that one.",
      });
    if (given.name === "full")
      return problem(
        res,
        409,
        "no_room",
        "No node of qa-eu has room: this asks for 2.5 CPU and 3.0 GB.",
        {
          placement: [
            { node: "fra-01", cpu_free: 6.1, memory_free: 1.9e9, reason: "1.1 GB short." },
            { node: "fra-04", reason: "Untrusted; an admin must look at its certificate." },
          ],
        },
      );
    if (given.name === "badtag")
      return problem(res, 422, "tag_gone", "feat-x is no longer in the registry.", {
        field: "versions.web",
        remedy: "Choose another one.",
      });
    const made = makeDeployment(given.name, "applying", {
      project: given.project,
      environment: given.environment,
      chosen: given.versions,
    });
    stages.set(made.id, Date.now());
    deployments.unshift(made);
    return send(res, 201, made);
  }
  if (!id)
    return send(res, 200, {
      items: deployments.filter(
        (d) =>
          (!query.get("name") || d.name === query.get("name")) &&
          (query.get("removed") === "true" || d.status !== "removed"),
      ),
    });
  const d = deployments.find((one) => one.id === id);
  if (!d) return problem(res, 404, "not_found", "There is no such deployment.");
  if (sub === "events") return stream(req, res, d);
  if (sub === "metrics") {
    const steps = d.services.map((service) => service.step);
    return send(res, 200, metrics(query.get("from"), steps));
  }
  if (sub === "retry") {
    Object.assign(d, {
      status: "applying",
      run: d.run + 1,
      failure: undefined,
      revision: d.revision + 1,
    });
    stages.set(d.id, Date.now());
    return send(res, 202, d);
  }
  if (sub === "runs" && !rest[0])
    return send(res, 200, { items: Array.from({ length: d.run }, (_, i) => runOf(d, d.run - i)) });
  if (sub === "runs" && rest[1] === "steps") {
    const after = Number(query.get("after") ?? 0);
    const count = rest[2] === "sql-seed" ? 60 : rest[2] === "http-check" ? 5 : 12;
    if (d.status === "applying" && rest[2] === "sql-seed")
      return send(res, 200, { items: [], more: false });
    return send(res, 200, {
      items: Array.from({ length: count }, (_, i) => line(d, rest[2], i + 1)).filter(
        (l) => l.number > after,
      ),
      more: false,
    });
  }
  if (sub === "runs") return send(res, 200, runOf(d, Number(rest[0])));
  if (sub === "logs") return mergedLog(res, query.get("search"));
  if (sub === "services") {
    res.writeHead(200, { "Content-Type": "text/event-stream" });
    for (let i = 1; i < 30; i++)
      res.write(
        `event: line\ndata: ${JSON.stringify({ at: new Date().toISOString(), text: `GET /products ${words[i % words.length]}` })}\n\n`,
      );
    return;
  }
  if (req.method === "DELETE") {
    Object.assign(d, { status: "removing", revision: d.revision + 1 });
    setTimeout(
      () => Object.assign(d, { status: "removed", services: [], revision: d.revision + 1 }),
      3000,
    );
    return send(res, 202, d);
  }
  return send(res, 200, d);
}

/** What three services and a step wrote in ten minutes: records, repetitions and errors. */
function mergedLog(res, search) {
  res.writeHead(200, { "Content-Type": "text/event-stream" });
  const begun = Date.now() - 600_000;
  const texts = (n) => [
    ["postgres", "LOG:  database system is ready to accept connections"],
    ["api", JSON.stringify({ level: "info", msg: `GET /products/${n}`, status: 200, took_ms: n })],
    ["web", "waiting for api"],
    ["web", "waiting for api"],
    ["web", "waiting for api"],
    ["api", JSON.stringify({ level: "error", msg: "no stock", product: n, err: "timeout" })],
    ["sql-seed", `inserted row ${n} of 40 into products`],
  ];
  for (let n = 1; n <= 40; n++)
    for (const [i, [source, text]] of texts(n).entries()) {
      if (source === "api" && i === 5 && n % 7 !== 0) continue;
      if (search && !text.toLowerCase().includes(search.toLowerCase())) continue;
      const at = new Date(begun + n * n * 350 + i * 40).toISOString();
      res.write(`id: ${at}/1\nevent: line\ndata: ${JSON.stringify({ at, source, text })}\n\n`);
    }
}

const runOf = (d, number) => ({
  id: d.id,
  number,
  pipeline_version: 15,
  status: number === d.run ? d.status : "failed",
  started_by: d.created_by,
  created_at: d.created_at,
  ended_at: d.status === "failed" ? d.changed_at : undefined,
  failure: d.failure,
  versions: d.versions,
  steps: stepsOf({ ...d, run: number }),
});

createServer(async (req, res) => {
  const url = new URL(req.url, "http://x");
  try {
    if (url.pathname.startsWith("/api/"))
      return await api(req, res, url.pathname, url.searchParams);
    const name = url.pathname.slice(1);
    const file = await readFile(new URL(`../dist/${name}`, import.meta.url)).catch(() => null);
    const type = types[name.split(".").pop()];
    res.writeHead(200, {
      "Content-Type": file && type ? type : types.html,
      "Content-Security-Policy": csp,
    });
    res.end(file && type ? file : await readFile(new URL("../dist/index.html", import.meta.url)));
  } catch (error) {
    problem(res, 500, "broken", String(error));
  }
}).listen(port, "127.0.0.1", () => console.log(`fake control plane on :${port}`));

// What the URLs of made-up deployments answer.
createServer((_, res) => res.end("hello from a made-up service")).listen(8081, "127.0.0.1");
