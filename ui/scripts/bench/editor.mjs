import { api, until } from "../../e2e/browser.mjs";
import { frameRows, workFor } from "./frames.mjs";
import { small } from "./rows.mjs";

const STEPS = small ? 60 : 500;
/** A step with others around it. */
const AMID = STEPS / 2 + 12;
const node = (page, i) => page.locator(`.en[data-key="step-${i}"]`);

/** Where something is, once it stands still: the canvas fits itself to its steps first. */
async function still(one) {
  let before;
  let box = await one.boundingBox();
  await until("the canvas to stand still", async () => {
    [before, box] = [box, await one.boundingBox()];
    return before && box && before.x === box.x && before.y === box.y;
  });
  return box;
}

/** A service that waits for the one before, and reads from it and from three others. */
const step = (service, i) => ({
  key: `step-${i}`,
  ...(i > 0 ? { needs: [`step-${i - 1}`] } : {}),
  service: {
    name: service,
    resources: { memory_mib: 16 },
    ports: [{ name: "http", port: 8080 }],
    env: {
      NAME: "1",
      ...(i > 3 ? { A: `http://\${{ services.step-${i - 1}.host }}:8080` } : {}),
      ...(i > 3 ? { B: `\${{ services.step-${i - 3}.port }}` } : {}),
      ...Object.fromEntries(Array.from({ length: 5 }, (_, n) => [`V${n}`, String(n)])),
    },
  },
  position: { x: 40 + (i % 25) * 250, y: 40 + Math.floor(i / 25) * 320 },
});

/**
 * Tells of a draft of 500 services in a grid, as far away as the address has it. Each row has a
 * project of its own: a browser keeps what it could not save of one.
 */
async function drawn({ page, front, send }, name, search, measure) {
  const project = `bench-${name}`;
  await send(page, "PUT", `/projects/${project}`, { resources: { memory_mib: 8192 } });
  const [service] = (await api(page, "/services?limit=1")).items;
  const steps = Array.from({ length: STEPS }, (_, i) => step(service.name, i));
  await send(page, "PUT", `/projects/${project}/draft`, { base_version: 0, content: { steps } });
  try {
    await page.goto(`${front.url}/projects/${project}/pipeline${search}`);
    await page.locator(".en").first().waitFor({ timeout: 120_000 });
    return await measure();
  } finally {
    await page.goto(`${front.url}/account`);
    await send(page, "DELETE", `/projects/${project}`);
  }
}

/** One is dragged about. */
async function dragged({ browser, page }, id, how) {
  const one = node(page, AMID);
  const box = await still(one);
  const all = await page.locator(".en").count();
  await page.mouse.move(box.x + box.width / 2, box.y + 8);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2 + 10, box.y + 18, { steps: 4 });
  const frames = await workFor(browser, page, "pointermove", async () => {
    await page.mouse.move(box.x + 10, box.y + 160, { steps: 150 });
    await page.mouse.move(box.x - 200, box.y - 60, { steps: 250 });
  });
  const moved = await one.boundingBox();
  await page.mouse.up();
  if (Math.hypot(moved.x - box.x, moved.y - box.y) < 50) throw new Error("nothing was dragged");
  return frameRows(id, `Editor with ${STEPS} steps (${all} in sight${how}), dragging`, frames);
}

export const drag = (world) => drawn(world, "drag", "", () => dragged(world, "editor_drag", ""));

/** Near enough to read: ports, values and each line are drawn. */
export const dragNear = (world) =>
  drawn(world, "drag-near", `?step=step-${AMID}`, () =>
    dragged(world, "editor_drag_near", " at reading size"),
  );

/** What answers within that many ms is felt as at once (Nielsen 1993; the R of Chrome's RAIL). */
const AT_ONCE = 100;

/** A step is chosen, and another: what is drawn anew on the canvas and beside it. */
export const select = (world) =>
  drawn(world, "select", `?step=step-${AMID}`, async () => {
    const { browser, page } = world;
    const pair = [node(page, AMID), node(page, AMID + 1)];
    await still(pair[0]);
    const frames = await workFor(browser, page, "pointerdown", async () => {
      for (let i = 0; i < 42; i++) {
        await pair[i % 2].locator(".nm").click();
        await page.waitForTimeout(150);
      }
    });
    return frameRows("editor_select", `Editor with ${STEPS} steps, choosing one`, frames, AT_ONCE);
  });

/** A letter in a field: the drawing is another one behind each. */
export const type = (world) =>
  drawn(world, "type", `?step=step-${AMID}`, async () => {
    const { browser, page } = world;
    await still(node(page, AMID));
    await page.getByRole("textbox", { name: "NAME", exact: true }).click();
    const frames = await workFor(browser, page, "keydown", async () => {
      for (let i = 0; i < 60; i++) {
        await page.keyboard.press("a");
        await page.waitForTimeout(60);
      }
    });
    return frameRows(
      "editor_type",
      `Editor with ${STEPS} steps, a letter in a field`,
      frames,
      AT_ONCE,
    );
  });
