import { QueryClient } from "@tanstack/react-query";
import type { Deployment, Progress, Question, Schemas, Step } from "@/api/client";
import { explained } from "@/api/queries/access";
import { activity } from "@/api/queries/activity";
import { environments } from "@/api/queries/catalog";
import { me } from "@/api/queries/common";
import { tags } from "@/api/queries/deployments";
import { galleryTexts } from "@/pages/components/galleryTexts";

// What the gallery shows: made up, the same at each visit but for the clock, and read from no server.

const t = galleryTexts.examples;
const HOUR = 3_600_000;
const loaded = Date.now();

/** So many seconds before the page was loaded. */
export const before = (seconds: number) => new Date(loaded - seconds * 1000).toISOString();

export const statuses: Step["status"][] = [
  "pending",
  "pulling",
  "running",
  "waiting",
  "done",
  "failed",
  "undoing",
  "undone",
  "skipped",
  "unknown",
];

export function step(status: Step["status"], position: number, more: Partial<Step> = {}): Step {
  const begun = status !== "pending" && status !== "skipped";
  const ended = begun && ["done", "failed", "undone"].includes(status);
  return {
    run: 1,
    key: `${status}-step`,
    position,
    kind: "plugin",
    title: "sql-script 2.3.0",
    needs: [],
    status,
    lines: 0,
    started_at: begun ? before(38) : undefined,
    ended_at: ended ? before(4) : undefined,
    usual_seconds: 31,
    ...more,
  };
}

export const pulled: Progress = {
  run: 1,
  step: "pulling-step",
  at: before(1),
  pulled_bytes: 148e6,
  total_bytes: 243e6,
  pulled_layers: 3,
  total_layers: 7,
};

const version = (tag: string): Schemas["ServiceVersion"] => ({
  step: "web",
  service: "shop-web",
  image: "ghcr.io/northwind/web",
  tag_mode: "selectable",
  tag,
  digest: "sha256:0",
});

const answers = (health: Schemas["Health"]): Schemas["ServiceHealth"] => ({
  step: "web",
  health,
  url: "http://web.cart-redesign.qa-eu.lab.example.com",
  ports: [],
  restarts: 0,
});

export function deployment(
  status: Deployment["status"],
  more: Partial<Deployment> = {},
): Deployment {
  return {
    id: `made-up-${status}`,
    name: "cart-redesign",
    project: "shop",
    environment: "qa-eu",
    status,
    revision: 1,
    pipeline_version: 14,
    run: 1,
    steps_done: 6,
    steps_total: 9,
    versions: [version("feat-cart-redesign-51d0e7b")],
    services: status === "ready" ? [answers("healthy")] : [],
    created_by: "lena-hoffmann",
    created_at: before(7200),
    changed_at: before(140),
    lifetime_hours: 168,
    level: "full",
    ...more,
  };
}

/** Each state of a row, and what else a row can say. */
export const rows: Deployment[] = [
  deployment("queued", { detail: t.queued, steps_done: 0 }),
  deployment("applying", { detail: t.step }),
  deployment("ready", { expires_at: new Date(loaded + 69 * HOUR).toISOString() }),
  deployment("undoing"),
  deployment("failed", { failure: { step: "http-check", code: "exit", message: t.failure } }),
  deployment("stuck", { failure: { step: "keycloak-user", code: "left", message: t.left } }),
  deployment("removing"),
  deployment("ready", {
    id: "made-up-offline",
    node: "fra-02",
    condition: "offline",
    node_offline_since: before(900),
    expires_at: new Date(loaded + 5 * HOUR).toISOString(),
  }),
  deployment("failed", { id: "made-up-read", level: "read" }),
  deployment("canceled"),
  deployment("removed"),
];

export const kept: [string, Deployment][] = [
  [t.days, deployment("ready", { expires_at: new Date(loaded + 69 * HOUR).toISOString() })],
  [t.soon, deployment("ready", { expires_at: new Date(loaded + 5 * HOUR).toISOString() })],
  [t.overdue, deployment("ready", { expires_at: before(60) })],
  [
    t.held,
    deployment("ready", {
      hold: { owner: "priya-raman", reason: t.reason, since: before(60) },
    }),
  ],
  [
    t.heldUntil,
    deployment("ready", {
      hold: {
        owner: "priya-raman",
        reason: t.reason,
        since: before(60),
        until: new Date(loaded + 99 * HOUR).toISOString(),
      },
    }),
  ],
];

export function question(more: Partial<Question> = {}): Deployment {
  return deployment("applying", {
    node: "fra-02",
    question: {
      run: 1,
      step: "release",
      prompt: t.prompt,
      asked_at: before(300),
      deadline: new Date(loaded + HOUR).toISOString(),
      fields: [
        { name: "rows", label: t.rows, type: "number", required: true },
        { name: "region", label: t.region, type: "choice", choices: ["eu", "us"] },
        { name: "sure", label: t.sure, type: "boolean" },
      ],
      teams: ["qa-guild"],
      users: [],
      may_answer: true,
      ...more,
    },
  });
}

export const tagList: Schemas["TagList"] = {
  items: [
    {
      tag: "feat-cart-redesign-51d0e7b",
      branch: "feat/cart-redesign",
      commit: "51d0e7b8",
      created_at: before(600),
      size: 243e6,
    },
    { tag: "v1.2.0", created_at: before(90_000), size: 240e6 },
    { tag: "v1.1.0", created_at: before(900_000), size: 238e6 },
  ],
  total: 18_204,
  matching: 3,
  pattern: "v*",
  tag_mode: "selectable",
  read_at: before(1),
  stale: false,
};

/** A project with a service of which nobody chooses the version. */
export const shop = {
  name: "shop",
  services: [
    { step: "web", service: "shop-web", image: "ghcr.io/northwind/web", tag_mode: "selectable" },
    { step: "api", service: "shop-api", image: "ghcr.io/northwind/api", tag_mode: "selectable" },
    {
      step: "db",
      service: "postgres",
      image: "docker.io/library/postgres",
      tag_mode: "pinned",
      tag: "17.2-bookworm",
    },
  ],
} as Schemas["Project"];

/** What a request is refused with. */
export const refusal = {
  problem: {
    detail: t.silent,
    remedy: t.again,
    request_id: "01937c1e-8a40",
  },
};

/** A cache that knows all of this and asks nobody: what it does not know stays under way. */
export function filledCache(): QueryClient {
  const cache = new QueryClient({
    defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY, enabled: false } },
  });
  const person: Schemas["Me"] = {
    name: "mira-okafor",
    display_name: "Mira Okafor",
    role: "admin",
    teams: [],
    can_create: true,
    password: true,
  };
  // Who somebody is is asked again after a minute; here it stays known.
  cache.setQueryData(me.queryKey, person, { updatedAt: Date.now() + 86_400_000 });
  cache.setQueryData(environments.queryKey, [
    { name: "qa-eu", ignore_visits: false },
  ] as Schemas["Environment"][]);
  const pages = { pages: [tagList], pageParams: [undefined] };
  cache.setQueryData(tags("shop-web", "", "newest").queryKey, pages);
  const none = { pages: [{ ...tagList, items: [], matching: 0 }], pageParams: [undefined] };
  cache.setQueryData(tags("nothing", "", "newest").queryKey, none);
  cache.setQueryData(tags("shop-web", "nowhere", "newest").queryKey, none);
  for (const [, { id, expires_at: end }] of kept)
    cache.setQueryData(activity(id, end).queryKey, {
      items: [{ at: before(10_800), kind: "visited", by: "aiko-tanaka" }],
      rule: t.rule,
    });
  for (const service of ["shop-web", "shop-api"])
    cache.setQueryData(["tags", service, "first"], tagList);
  const place = "deployments of shop on qa-eu";
  const object = "deployment/made-up-read";
  cache.setQueryData(explained(object, place).queryKey, {
    object,
    level: "read",
    because: [],
    ask: ["Mira Okafor"],
  });
  return cache;
}
