// What nobody uses is found by what it costs, and removed from there.
import { accessible, api, freshName, picture, RUN, same, send, signIn, until } from "./browser.mjs";
import { cleanUp, create } from "./main.mjs";

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
