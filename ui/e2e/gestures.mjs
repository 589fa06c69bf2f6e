// Drawing as people know it from other tools: what acts on the selection, where things land, what a line can be
// dropped on, and how to begin.
import {
  accessible,
  api,
  check,
  freshName,
  picture,
  same,
  send,
  signIn,
  until,
} from "./browser.mjs";
import { dropProject, makeProject, node, saved } from "./editor.mjs";

const SERVICE = "shop-web";
const step = (key, x, y, needs = [], more = {}) => ({
  key,
  needs,
  position: { x, y },
  service: { name: SERVICE, resources: { memory_mib: 64 }, ...more },
});
const six = ["db", "migrate", "cache", "api", "web", "check"].map((key, at, all) =>
  step(key, 0, at * 30, at > 0 ? [all[at - 1]] : []),
);
const order = (from, to) => `.react-flow__edge[data-id="order|${from}||${to}"]`;

const draft = (page, project, content) =>
  send(page, "PUT", `/projects/${project}/draft`, { base_version: 0, content });
const drawn = async (page, project) => (await api(page, `/projects/${project}/draft`)).content;
const stepsOf = async (page, project) => (await drawn(page, project))?.steps ?? [];

/** Tells a story in a project of its own. */
const inProject = (story) => async (given) => {
  const { page } = given;
  const project = freshName("hand");
  await signIn(page);
  await makeProject(page, project);
  try {
    await story(given, project);
  } finally {
    await dropProject(page, project);
  }
};

async function opens(page, project, content) {
  if (content) await draft(page, project, content);
  await page.goto(`/projects/${project}/pipeline`);
  await (content
    ? node(page, content.steps[0].key)
    : page.getByText("Drag a service here, or press A.")
  ).waitFor();
}

/** Until the canvas stands still. */
async function rests(page) {
  let before = "";
  await until("the canvas rests", async () => {
    const now = await page.locator(".react-flow__viewport").getAttribute("style");
    const still = now === before;
    before = now;
    await page.waitForTimeout(120);
    return still;
  });
}

async function drop(page, from, { x, y }) {
  const box = await from.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(x - 20, y - 10, { steps: 6 });
  await page.mouse.move(x, y, { steps: 2 });
  return () => page.mouse.up();
}

const middle = async (locator) => {
  const { x, y, width, height } = await locator.boundingBox();
  return { x: x + width / 2, y: y + height / 2 };
};
const port = (page, key, id) =>
  node(page, key).locator(`.react-flow__handle[data-handleid="${id}"]`);

/** Delete, arrows and Escape mean what is chosen, though the focus is on a button far away. */
async function selection({ page }, project) {
  await opens(page, project, { steps: [step("a", 0, 0), step("b", 260, 0, ["a"])] });
  await rests(page);
  await node(page, "b").locator(".nm").click();
  await page.getByRole("complementary", { name: "b", exact: true }).waitFor();
  const history = page.getByRole("button", { name: "History" });
  await history.focus();
  const place = async () => (await stepsOf(page, project)).find(({ key }) => key === "b")?.position;
  const before = await place();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Shift+ArrowRight");
  await until("the step was moved", async () => (await place())?.x === before.x + 20);
  same((await place()).y, before.y + 5, "how far an arrow moves");
  await history.focus();
  await page.keyboard.press("Escape");
  await page.getByRole("complementary", { name: "Pipeline", exact: true }).waitFor();
  // Two are chosen, and a press on one of them leaves that one.
  await page.keyboard.press("Control+a");
  await page.getByText("2 chosen").first().waitFor();
  await node(page, "a").locator(".nm").click();
  await page.getByRole("complementary", { name: "a", exact: true }).waitFor();
  await history.focus();
  await page.keyboard.press("Delete");
  await node(page, "a").waitFor({ state: "detached" });
  await page.keyboard.press("Control+z");
  await node(page, "a").waitFor();
}

/** The picker adds one step, by arrow keys, and what lands never lies on anything. */
async function landing({ page, context }, project) {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await opens(page, project);
  await page.keyboard.press("a");
  await page.keyboard.type("shop");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  const name = await page.evaluate(() => document.activeElement?.querySelector(".tr")?.textContent);
  await page.keyboard.press("Enter");
  await node(page, name).waitFor();
  await until("the new step has the focus", () =>
    page.evaluate((key) => document.activeElement?.dataset.id === key, name),
  );
  await saved(page);
  same((await stepsOf(page, project)).length, 1, "steps after one Enter");
  // Where it is let go, there its middle is.
  const palette = page.getByRole("complementary", { name: "Steps to add" });
  const item = palette.getByRole("button", { name: "Approval", exact: true });
  const canvas = await page.locator(".cv").boundingBox();
  const at = { x: 240, y: canvas.height - 160 };
  await item.dragTo(page.locator(".cv"), { targetPosition: at });
  await node(page, "approval").waitFor();
  const landed = await middle(node(page, "approval"));
  const off = Math.hypot(landed.x - canvas.x - at.x, landed.y - canvas.y - at.y);
  check(off < 12, `it landed ${Math.round(off)} px from where it was let go`);
  for (let i = 0; i < 4; i++)
    await item.dragTo(page.locator(".cv"), { targetPosition: { x: at.x + i, y: at.y + i } });
  await node(page, "approval-5").waitFor();
  await node(page, "approval").locator(".nm").click();
  await page.keyboard.press("Control+c");
  for (let i = 0; i < 3; i++) await page.keyboard.press("Control+v");
  await node(page, "approval-8").waitFor();
  await page.keyboard.press("f");
  await rests(page);
  const boxes = await page.locator(".react-flow__node").evaluateAll((all) =>
    all.map((one) => {
      const { x, y, right, bottom } = one.getBoundingClientRect();
      return { id: one.dataset.id, x, y, right, bottom };
    }),
  );
  const over = boxes.flatMap((a, i) =>
    boxes
      .slice(i + 1)
      .filter((b) => a.x < b.right && b.x < a.right && a.y < b.bottom && b.y < a.bottom)
      .map((b) => `${a.id} and ${b.id}`),
  );
  same(over, [], "steps that lie on each other");
  await picture(page, "editor-landing");
}

/** A line lights up what takes it; on a step it takes or asks for the field, on nothing it opens the picker. */
async function lines({ page }, project) {
  const db = step("db", 0, 0, [], { ports: [{ name: "sql", port: 5432 }] });
  const web = step("web", 320, 0, [], { env: { API_URL: "" } });
  const other = step("other", 320, 200, [], { env: { HOST_A: "", HOST_B: "" } });
  await opens(page, project, { steps: [db, web, other] });
  await rests(page);
  const release = await drop(
    page,
    port(page, "db", "out:host"),
    await middle(node(page, "web").locator(".sb")),
  );
  await page.locator('.en[data-key="web"][data-drop="yes"]').waitFor();
  await page
    .locator('.react-flow__handle[data-handleid="in:service.env.API_URL"][data-drop="yes"]')
    .first()
    .waitFor();
  same(
    await page.locator('.react-flow__handle.sq[data-drop="yes"]').count(),
    0,
    "squares for a value",
  );
  await picture(page, "editor-dragging");
  await release();
  await page
    .locator('.react-flow__edge[data-id="value|db|host|web|service.env.API_URL"]')
    .waitFor({ state: "attached" });
  same(await page.locator("[data-drop]").count(), 0, "what is still lit");
  await (
    await drop(page, port(page, "db", "out:port"), await middle(node(page, "other").locator(".sb")))
  )();
  const menu = page.getByRole("menu", { name: "Which field of other?" });
  await menu.getByRole("menuitem", { name: "HOST_B" }).waitFor();
  await accessible(page, "the question which field a line is for");
  await picture(page, "editor-which-field");
  await menu.getByRole("menuitem", { name: "HOST_B" }).click();
  await page
    .locator('.react-flow__edge[data-id="value|db|port|other|service.env.HOST_B"]')
    .waitFor({ state: "attached" });
  // On nothing: the picker, and the step that is chosen is connected.
  const canvas = await page.locator(".cv").boundingBox();
  await (
    await drop(page, port(page, "db", "after"), {
      x: canvas.x + canvas.width / 2,
      y: canvas.y + canvas.height - 120,
    })
  )();
  const picker = page.getByRole("dialog", { name: "Add a step, connected with db" });
  await picker.waitFor();
  await accessible(page, "the picker");
  await picture(page, "editor-picker");
  await page.keyboard.type("approval");
  await page.keyboard.press("Enter");
  await page.locator(order("db", "approval")).waitFor({ state: "attached" });
  // The plus of a port does the same without a drag.
  await port(page, "web", "after").click();
  const beside = page.getByRole("dialog", { name: "Add a step, connected with web" });
  await beside.waitFor();
  await page.keyboard.type("script");
  await beside.getByText("Script", { exact: true }).click();
  await page.locator(order("web", "script")).waitFor({ state: "attached" });
}

/** A step that is dragged near the line of another is drawn to it, and a guide says so while it is. */
async function guides(page, project) {
  const [still, moved] = [await middle(node(page, "a")), await middle(node(page, "c"))];
  await page.mouse.move(moved.x, moved.y);
  await page.mouse.down();
  await page.mouse.move(moved.x + 30, still.y + 40, { steps: 6 });
  // A drag begins a few pixels late, so the rest of the way is measured.
  const left = still.y - (await middle(node(page, "c"))).y;
  await page.mouse.move(moved.x + 30, still.y + 40 + left + 3, { steps: 6 });
  await page.locator(".guide.y").waitFor();
  await picture(page, "editor-guide");
  await page.mouse.up();
  await page.locator(".guide").waitFor({ state: "detached" });
  await until("both are in line", async () => {
    const all = await stepsOf(page, project);
    const [a, c] = ["a", "c"].map((key) => all.find((one) => one.key === key).position.y);
    return a === c;
  });
}

/** Twice on nothing adds there; the other button, or its key, opens a menu; groups have a name and move as one. */
async function menus({ page }, project) {
  await opens(page, project, {
    steps: [step("a", 0, 0), step("b", 260, 0, ["a"]), step("c", 520, 160)],
  });
  await rests(page);
  await guides(page, project);
  const canvas = await page.locator(".cv").boundingBox();
  await page.mouse.dblclick(canvas.x + canvas.width - 150, canvas.y + 90);
  await page.getByRole("dialog", { name: "Add a step" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await node(page, "c").click({ button: "right" });
  await page.getByRole("menu", { name: "c" }).getByRole("menuitem", { name: "Duplicate" }).click();
  await node(page, "c-2").waitFor();
  await page.locator(".react-flow__node[data-id=a]").focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  await node(page, "a").locator(".nm").click();
  await node(page, "b")
    .locator(".nm")
    .click({ modifiers: ["Control"] });
  await page.getByText("2 chosen").first().waitFor();
  await node(page, "b").click({ button: "right" });
  await page.getByRole("menuitem", { name: "Group" }).click();
  const name = page.getByRole("textbox", { name: "Name of the group" });
  await until("the name has the focus", () =>
    name.evaluate((one) => one === document.activeElement),
  );
  await page.keyboard.type("Storage");
  await saved(page);
  const group = async () => (await drawn(page, project)).comments?.[0];
  await until("the group is saved", async () => (await group())?.text === "Storage");
  same((await group()).steps, ["a", "b"], "the steps of the group");
  await accessible(page, "a group on the canvas");
  await picture(page, "editor-group");
  const before = await stepsOf(page, project);
  const head = await page.locator(".frame .fh").boundingBox();
  await page.mouse.move(head.x + head.width - 12, head.y + 12);
  await page.mouse.down();
  await page.mouse.move(head.x + head.width + 30, head.y + 100, { steps: 8 });
  await page.mouse.up();
  await until("both steps were moved", async () => {
    const after = await stepsOf(page, project);
    const by = ["a", "b", "c"].map((key) => {
      const [was, is] = [before, after].map((all) => all.find((one) => one.key === key).position);
      return `${is.x - was.x} ${is.y - was.y}`;
    });
    return by[0] !== "0 0" && by[0] === by[1] && by[2] === "0 0";
  });
  await page.keyboard.press("Control+f");
  await page.getByRole("textbox", { name: "Find in the drawing" }).fill("c-2");
  await page.keyboard.press("Enter");
  await page.getByText("1 of 1").waitFor();
  await picture(page, "editor-find");
  await page.keyboard.press("Escape");
  await until("the step that was found has the focus", () =>
    page.evaluate(() => document.activeElement?.dataset.id === "c-2"),
  );
}

/** Six steps in a row are read at 1440 and usable at 1024; no line runs behind a step, none says what others say. */
async function room({ page }, project) {
  const more = [...six];
  more[4] = {
    ...more[4],
    needs: ["api", "db"],
    service: { ...more[4].service, env: { DB: "${{ services.db.host }}" } },
  };
  const zoom = async () => Number.parseInt(await page.locator(".zv").innerText(), 10);
  await page.goto("/projects/shop/pipeline");
  await node(page, "smoke").waitFor();
  await rests(page);
  check((await zoom()) >= 85, `the example at 1440 is drawn at ${await zoom()} %`);
  await opens(page, project, { steps: more });
  await page.getByRole("button", { name: "Tidy" }).click();
  await rests(page);
  check((await zoom()) >= 85, `six steps at 1440 are drawn at ${await zoom()} %`);
  same(await page.locator(order("db", "web")).count(), 0, "lines that follow from others");
  await node(page, "web").locator(".nm").click();
  await page.locator(`${order("db", "web")}.implied`).waitFor({ state: "attached" });
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: /^Fit/ }).click();
  await rests(page);
  const hidden = await page.evaluate(() => {
    const boxes = [...document.querySelectorAll(".en")].map((one) => [
      one.dataset.key,
      one.getBoundingClientRect(),
    ]);
    const all = [...document.querySelectorAll(".react-flow__edge")];
    return all.flatMap((edge) => {
      const path = edge.querySelector(".react-flow__edge-path");
      const turn = path.getScreenCTM();
      const length = path.getTotalLength();
      const found = new Set();
      for (let at = 0; at <= length; at += 4) {
        const { x, y } = path.getPointAtLength(at).matrixTransform(turn);
        for (const [key, box] of boxes)
          if (x > box.left + 8 && x < box.right - 8 && y > box.top + 2 && y < box.bottom - 2)
            found.add(`${edge.dataset.id} behind ${key}`);
      }
      return [...found];
    });
  });
  same(hidden, [], "lines behind steps");
  for (const theme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: theme });
    await accessible(page, `six steps, ${theme}`);
    await picture(page, `editor-six-${theme}`);
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1024, height: 768 });
  await page.reload();
  await node(page, "db").waitFor();
  await rests(page);
  check((await zoom()) >= 70, `six steps at 1024 are drawn at ${await zoom()} %`);
  const wide = await page.evaluate(() =>
    document.documentElement.scrollWidth <= window.innerWidth
      ? []
      : [...document.querySelectorAll("body *")]
          .filter((one) => one.getBoundingClientRect().right > window.innerWidth)
          .map((one) => `${one.tagName} ${one.className}`),
  );
  same(wide, [], "what is too wide at 1024");
  await picture(page, "editor-1024");
  await node(page, "db").locator(".nm").click();
  await page.getByRole("complementary", { name: "db", exact: true }).waitFor();
  await picture(page, "editor-1024-inspector");
  await page.setViewportSize({ width: 390, height: 844 });
  await page.getByRole("heading", { name: "No pipeline yet" }).waitFor();
  await picture(page, "editor-390");
}

/** By Tab, a link leads past all that lies before the canvas. */
async function skips({ page }, project) {
  await opens(page, project, { steps: [step("a", 0, 0)] });
  const link = page.getByRole("button", { name: "Skip to the canvas" });
  await link.focus();
  await picture(page, "editor-skip");
  await page.keyboard.press("Enter");
  await until("the canvas has the focus", () =>
    page.evaluate(() => document.activeElement?.id === "canvas"),
  );
  await page.keyboard.press("j");
  await until("the first step has the focus", () =>
    page.evaluate(() => document.activeElement?.dataset.id === "a"),
  );
}

/** An empty canvas offers an example, and a Compose file becomes a drawing with the services it needs. */
async function begins({ page }, project) {
  await opens(page, project);
  await picture(page, "editor-empty");
  await accessible(page, "an empty canvas");
  await page.getByRole("button", { name: "Begin with an example" }).click();
  await page.locator(".en").nth(1).waitFor();
  await until(
    "nothing of it is wrong",
    async () => (await page.locator('.bdg[data-st="failed"]').count()) === 0,
  );
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Delete");
  const { registry, image } = await api(page, "/services/shop-web");
  const { host } = await api(page, `/registries/${registry}`);
  const file = `services:\n  page:\n    image: ${host}/${image}:v1\n    privileged: true\n  store:\n    image: ${host}/other/thing:2\n`;
  const dialog = page.getByRole("dialog", { name: "The file has 2 steps" });
  const dropped = await page.evaluateHandle((text) => {
    const all = new DataTransfer();
    all.items.add(new File([text], "compose.yaml", { type: "text/yaml" }));
    return all;
  }, file);
  await page.locator(".cv .react-flow__pane").dispatchEvent("drop", { dataTransfer: dropped });
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Choose a Compose file" }).click();
  await (await chooser).setFiles({
    name: "compose.yaml",
    mimeType: "text/yaml",
    buffer: Buffer.from(file),
  });
  await dialog.getByText(/other\/thing:2/).waitFor();
  await dialog.getByText(/^Line 4:/).waitFor();
  await accessible(page, "what a Compose file becomes");
  await picture(page, "editor-compose");
  try {
    await dialog.getByRole("button", { name: "Add 1 service and draw it" }).click();
    await node(page, "page").waitFor();
    await node(page, "store").waitFor();
    const [first] = await until("it is saved", async () => {
      const steps = await stepsOf(page, project);
      return steps.length === 2 && steps;
    });
    same(first.service.name, "shop-web", "the service that the catalogue had already");
  } finally {
    await send(page, "DELETE", `/projects/${project}/draft`).catch(() => undefined);
    await send(page, "DELETE", `/services/${project}-store`).catch(() => undefined);
  }
}

/** What the image says is proposed, and a secret that is missing is set where its absence is said. */
async function knows({ page }, project) {
  const { registry, image } = await api(page, "/services/shop-web");
  const service = freshName("known");
  await send(page, "PUT", `/services/${service}`, {
    registry,
    image,
    tag_mode: "selectable",
    pattern: "v*",
    step: { env: { API_TOKEN: "${{ secrets.SHOP_TOKEN }}" }, resources: { memory_mib: 64 } },
  });
  try {
    const bare = {
      key: "web",
      position: { x: 0, y: 0 },
      service: { name: service, resources: { memory_mib: 64 } },
    };
    await opens(page, project, { steps: [bare] });
    const listed = page.getByRole("tabpanel", { name: "Problems" });
    await listed.getByText(`${service} needs API_TOKEN`).waitFor();
    await node(page, "web").locator(".nm").click();
    const beside = page.getByRole("complementary", { name: "web", exact: true });
    await beside.getByText(/^What the image v.* says$/).waitFor();
    await picture(page, "editor-image");
    await beside
      .getByRole("button", { name: /^Take (all of it over|over: API_TOKEN)/ })
      .first()
      .click();
    await listed.getByText(/no secret "?SHOP_TOKEN/).waitFor();
    same(await listed.getByText(`${service} needs API_TOKEN`).count(), 0, "needs that are met");
    await listed.getByRole("button", { name: "Set SHOP_TOKEN" }).click();
    const dialog = page.getByRole("dialog", { name: "Set the secret SHOP_TOKEN" });
    await accessible(page, "setting a secret");
    await picture(page, "editor-secret");
    await dialog.getByRole("button", { name: "Make a random one" }).click();
    await until(
      "the problem is gone",
      async () => (await listed.getByText(/SHOP_TOKEN/).count()) === 0,
    );
    const { items } = await api(page, `/projects/${project}/secrets`);
    same(
      items.map(({ name }) => name),
      ["SHOP_TOKEN"],
      "the project's secrets",
    );
  } finally {
    await send(page, "DELETE", `/projects/${project}/draft`).catch(() => undefined);
    await send(page, "DELETE", `/services/${service}`).catch(() => undefined);
  }
}

export const stories = [
  [
    "in the editor, Delete, arrows and Escape act on what is chosen, wherever the focus is",
    inProject(selection),
  ],
  ["in the editor, one Enter adds one step, and what lands never overlaps", inProject(landing)],
  [
    "in the editor, a line lights up its targets, asks for a field, or adds a step",
    inProject(lines),
  ],
  ["in the editor, menus, groups and the search on the canvas", inProject(menus)],
  ["in the editor, six steps are read at once, and no line runs behind one", inProject(room)],
  ["in the editor, a link skips to the canvas", inProject(skips)],
  ["in the editor, an empty canvas offers an example and reads a Compose file", inProject(begins)],
  ["in the editor, an image's needs are proposed, and a missing secret is set", inProject(knows)],
];
