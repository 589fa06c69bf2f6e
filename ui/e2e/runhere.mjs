// A step of a draft is run where it stands, with real outputs of earlier steps or pinned ones.
import {
  accessible,
  api,
  check,
  freshName,
  picture,
  RUN,
  same,
  send,
  signIn,
  until,
} from "./browser.mjs";
import { dropProject, makeProject, node } from "./editor.mjs";
import { cleanUp } from "./main.mjs";

const text = (name) => ({ type: "object", properties: { [name]: { type: "string" } } });
const steps = [
  {
    key: "derive",
    script: { source: 'export default () => ({outputs: {name: "really"}})', outputs: text("name") },
    position: { x: 0, y: 0 },
  },
  {
    key: "web",
    service: {
      name: "shop-web",
      env: { API_URL: "http://nowhere:1", API_TOKEN: "none" },
      ports: [{ name: "http", port: 8080, expose: true }],
      resources: { memory_mib: 64 },
      ready: { http: { port: 8080, path: "/healthz" } },
    },
    position: { x: 0, y: 200 },
  },
  {
    key: "greet",
    needs: ["derive", "web"],
    script: {
      source:
        "export default ({parameters: {name, host}}) => ({outputs: {said: name + ' at ' + host}})",
      parameters: { name: "${{ steps.derive.outputs.name }}", host: "${{ services.web.host }}" },
      outputs: text("said"),
    },
    position: { x: 320, y: 60 },
  },
  // It would fail, and does not run.
  {
    key: "after",
    needs: ["greet"],
    script: { source: 'export default () => { throw new Error("not this one") }' },
    position: { x: 640, y: 60 },
  },
];

const panelOf = (page) => page.getByRole("tabpanel", { name: "Dry run" });
const scratchOf = (page) => panelOf(page).getByRole("link", { name: /^scratch-greet-/ });

/** Runs the chosen step and returns the id of its deployment, once what it said is on its step. */
async function runs(page, before, said) {
  const panel = panelOf(page);
  await panel.getByRole("button", { name: "Run from here: greet" }).click();
  const idOf = async () => (await scratchOf(page).getAttribute("href")).split("/")[2];
  await scratchOf(page).waitFor();
  await until("another deployment runs it", async () => (await idOf()) !== before);
  await node(page, "greet").getByText(said).waitFor({ timeout: RUN });
  return idOf();
}

/** What runs, what came of it, on the steps themselves; then again with an output of one's own. */
async function runHere({ page }, project, made) {
  await send(page, "PUT", `/projects/${project}/pipeline`, { pipeline: { steps } });
  await page.goto(`/projects/${project}/pipeline`);
  await node(page, "greet").locator(".nm").click({ button: "right" });
  await page.getByRole("menuitem", { name: "Run from here…" }).click();
  const panel = panelOf(page);
  await panel.getByRole("combobox", { name: "Environment" }).selectOption("qa");
  const before = panel.getByRole("group", { name: "Before greet" });
  await before.getByText("runs: a service").waitFor();
  made.push(await runs(page, undefined, "really at web"));
  const [first] = made;
  const { steps_total, scratch, expires_at, created_at } = await api(page, `/deployments/${first}`);
  same([steps_total, scratch], [3, true], "what ran");
  const minutes = (Date.parse(expires_at) - Date.parse(created_at)) / 60_000;
  check(minutes > 50 && minutes < 70, `it is removed after ${minutes} minutes`);
  same(await node(page, "after").locator(".bdg.ran").count(), 0, "results of what did not run");
  const mark = node(page, "derive").locator('.bdg.ran[data-st="done"]');
  await mark.waitFor();
  await accessible(page, "results of a run in the editor");
  await picture(page, "run-here");
  await panel.getByRole("button", { name: "Pin these outputs of derive" }).click();
  const given = before.getByRole("textbox", { name: "name" });
  same(await given.inputValue(), "really", "the output that was pinned");
  await given.fill("pinned ${{ secrets.NOBODY }}");
  made.push(await runs(page, first, "pinned ${{ secrets.NOBODY }} at web"));
  const { steps: ran } = await api(page, `/deployments/${made[1]}/runs/1`);
  same(
    ran.map(({ key, title }) => [key, title]).filter(([key]) => key === "derive"),
    [["derive", "pinned"]],
    "what is said of the pinned step",
  );
  await panel.getByText("pinned", { exact: true }).waitFor();
  await picture(page, "run-here-pinned");
  // The one before goes by itself, this one at a press.
  const gone = async (id) => /remov/.test((await api(page, `/deployments/${id}`)).status);
  await until("the first one goes", () => gone(first));
  await panel.getByRole("button", { name: "Remove it" }).click();
  await panel.getByText("Removed", { exact: true }).waitFor({ timeout: RUN });
}

export const stories = [
  [
    "a step is run from the editor, with outputs of a run and with pinned ones",
    async (given) => {
      const project = freshName("runhere");
      const made = [];
      await signIn(given.page);
      try {
        await makeProject(given.page, project);
        await runHere(given, project, made);
      } finally {
        for (const id of made) await cleanUp(given.page, id);
        await dropProject(given.page, project);
      }
    },
  ],
];
