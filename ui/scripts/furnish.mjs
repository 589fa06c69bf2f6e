// What the demo's installation lacks and a real one has: people, teams, a webhook, a rule, a template, a question.
import { api, send, until } from "../e2e/browser.mjs";

const people = [
  ["priya-raman", "Priya Raman"],
  ["jonas-lindqvist", "Jonas Lindqvist"],
  ["aiko-tanaka", "Aiko Tanaka"],
];

const teams = {
  storefront: {
    description: "Shop, basket and checkout",
    members: ["priya-raman", "jonas-lindqvist"],
    grants: [
      { project: "shop", level: "full" },
      { environment: "qa", level: "full" },
    ],
  },
  "quality-assurance": {
    description: "Tests what is about to be released",
    members: ["aiko-tanaka"],
    grants: [{ project: "shop", level: "read" }],
  },
};

/** A project whose run waits for a person, and whose draft is behind what was published since. */
async function asking(page) {
  const ask = (prompt) => ({
    pipeline: {
      steps: [{ key: "release", needs: [], approval: { prompt, teams: ["quality-assurance"] } }],
    },
  });
  const { items } = await api(page, "/deployments?project=loyalty&limit=1");
  if (items.length > 0) return;
  await send(page, "PUT", "/projects/loyalty", { resources: { memory_mib: 256 } });
  await send(page, "PUT", "/projects/loyalty/pipeline", ask("Is the test data loaded?"));
  const body = { name: "points-release", project: "loyalty", environment: "qa", versions: {} };
  const made = await send(page, "POST", "/deployments", body);
  const draft = ask("Is the test data loaded, and did finance agree?").pipeline;
  await send(page, "PUT", "/projects/loyalty/draft", { base_version: 1, content: draft });
  await send(page, "PUT", "/projects/loyalty/pipeline", ask("Is last night's test data loaded?"));
  await until("the question", async () => (await api(page, `/deployments/${made.id}`)).question);
}

/** One that is a record by now. */
async function removed(page) {
  const over = ({ status }) => ["removed", "canceled"].includes(status);
  const { items } = await api(page, "/deployments?project=loyalty&removed=true&limit=20");
  if (items.some(over)) return;
  const body = { name: "points-trial", project: "loyalty", environment: "qa", versions: {} };
  const { id } = await send(page, "POST", "/deployments", body);
  await send(page, "DELETE", `/deployments/${id}`);
  await until("the record", async () => over(await api(page, `/deployments/${id}`)));
}

/** What a tester says where the deployment is, to an engineer who is named. */
async function talk(page) {
  const { items } = await api(page, "/deployments?project=shop&limit=20");
  for (const { id } of items.filter(({ status }) => status === "ready")) {
    const said = await api(page, `/deployments/${id}/comments`);
    if (said.items.length > 0) continue;
    const text = "The basket is empty after a reload. Can you look at it, @priya-raman?";
    await send(page, "POST", `/deployments/${id}/comments`, { body: text });
  }
}

/** Defines them by the API; a second time changes nothing. */
export async function furnish(page) {
  const put = (path, body) => send(page, "PUT", path, body);
  for (const [name, display_name] of people)
    await put(`/users/${name}`, {
      display_name,
      role: "user",
      active: true,
      password: `${name} opens the pictures`,
    });
  for (const [name, team] of Object.entries(teams)) await put(`/teams/${name}`, team);
  await put("/sources/platform", {
    ...{ url: "https://git.northwind.example/platform/definitions.git", branch: "main" },
    ...{ folder: "qa", mode: "confirm", period_minutes: 5, active: false },
  });
  await put("/webhooks/qa-channel", {
    kind: "slack",
    url: "https://hooks.slack.com/services/T000/B000/pictures",
    environment: "qa",
    events: ["deployment.ready", "deployment.failed", "node.offline"],
    active: false,
  });
  await put("/rules/shop-pull-requests", {
    source: "github",
    repository: "northwind/shop",
    project: "shop",
    environment: "qa",
    branch: "feat/*",
    tag: "{branch}-{short}",
    active: false,
  });
  await put("/projects/shop/templates/release-check", {
    description: "What goes out next, waiting its turn",
    environment: "qa",
    deployment_name: "release-check",
    versions: { web: "main-3f2a1bc" },
    wait: true,
  });
  await put("/usage/prices", { currency: "EUR", cpu_hour: 0.02, memory_gib_hour: 0.005 });
  for (const [name, subject, amount] of [
    ["storefront-november", "storefront", 40],
    ["quality-assurance-november", "quality-assurance", 10],
  ])
    await put(`/usage/budgets/${name}`, { scope: "team", subject, measure: "cpu_hours", amount });
  await talk(page);
  // One that nobody has drawn yet.
  await put("/projects/gift-wrapping", { resources: { memory_mib: 256 } });
  await asking(page);
  await removed(page);
}
