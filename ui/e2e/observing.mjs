// What needs attention, and who held how much: the pages of alerts and of usage, on real causes.
import { accessible, api, freshName, picture, RUN, same, send, signIn, until } from "./browser.mjs";
import { cleanUp, create } from "./main.mjs";

/** Sets the floor of a node's disk; one that no disk has is a cause for an alert. */
async function setFloor(page, node, mib) {
  const { environment, address, connect, settings } = await api(page, `/nodes/${node}`);
  const body = { environment, connect, settings: { ...settings, disk_floor_mib: mib } };
  if (address) body.address = address;
  await send(page, "PUT", `/nodes/${node}`, body);
}

/** An alert starts by its cause, is acknowledged and silenced until a time, and ends with its cause. */
async function alert(page, node) {
  await setFloor(page, node, 67_000_000);
  await page.goto("/alerts");
  const item = page.locator('li[data-condition="node.disk"]').filter({ hasText: node });
  // promise: O-02
  await item.getByText("is below its floor").waitFor();
  await accessible(page, "an alert");
  await item.getByRole("button", { name: "Acknowledge" }).click();
  await item.getByText("looks after it.").waitFor();
  await item.getByLabel(/^Silence notifications for/).click();
  await page.getByRole("option", { name: "8 hours" }).click();
  await item.getByText("notifications come again").waitFor();
  await picture(page, "alerts");
  await item.getByRole("button", { name: "End the silence" }).click();
  await item.getByLabel(/^Silence notifications for/).waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  await picture(page, "alerts-390");
  await page.setViewportSize({ width: 1440, height: 900 });
  await setFloor(page, node, 0);
  // promise: O-02
  await item.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Show those that ended" }).click();
  await item.getByText("ended").first().waitFor();
}

/** What was held, by whom and at what price; the page removes what nobody uses. */
async function usage(page, made) {
  await send(page, "PUT", "/usage/prices", { currency: "EUR", cpu_hour: 1, memory_gib_hour: 1 });
  // Nothing here is idle for days: the deployment is real, and that nobody used it is not.
  await page.route("**/api/v1/usage/idle*", async (route) => {
    const one = {
      ...made,
      node: made.node ?? "",
      team: "shop",
      person: made.created_by,
      active_at: "2026-01-02T03:04:05Z",
      cpu: 1,
      memory_mib: 512,
      gpus: 0,
      cores: 0,
      cost_per_day: 12,
      month: {},
    };
    const now = await api(page, `/deployments/${made.id}`);
    const items = ["ready", "failed"].includes(now.status) ? [one] : [];
    await route.fulfill({ json: { currency: "EUR", items } });
  });
  await page.goto("/usage");
  await page.getByRole("columnheader", { name: "Cost", exact: true }).waitFor();
  await page.getByLabel(/^By: /).click();
  await page.getByRole("option", { name: "Project" }).click();
  const told = await until("the project's hours", async () => {
    const { items } = await api(page, "/usage?by=project");
    return items.find(({ key }) => key[0] === made.project);
  });
  same(told.cost > 0, true, "what was held has a cost");
  await page.getByRole("row").filter({ hasText: made.project }).first().waitFor();
  await accessible(page, "the usage");
  await picture(page, "usage");
  await page.getByRole("button", { name: `Remove ${made.name}` }).click();
  const sheet = page
    .locator("[role=dialog], [role=alertdialog]")
    .filter({ hasText: `Remove ${made.name}?` });
  await sheet.waitFor();
  await picture(page, "usage-remove");
  await sheet.getByRole("button", { name: "Remove", exact: true }).click();
  await page.getByText("was used in the last three days").waitFor();
}

export const stories = [
  [
    "an alert starts and ends by its cause, and is silenced until a time",
    async ({ page }) => {
      await signIn(page);
      const { items } = await api(page, "/nodes");
      const node = items.find(({ status }) => status === "online").name;
      try {
        await alert(page, node);
      } finally {
        await setFloor(page, node, 0);
      }
    },
  ],
  [
    "usage by project with its cost, and what is idle is removed from there",
    async ({ page }) => {
      await signIn(page);
      const made = await create(page, freshName("idle"));
      try {
        const now = () => api(page, `/deployments/${made.id}`);
        await until("ready", async () => (await now()).status === "ready", RUN);
        await usage(page, await now());
      } finally {
        await send(page, "PUT", "/usage/prices", { currency: "" }).catch(() => undefined);
        await cleanUp(page, made.id);
      }
    },
  ],
];
