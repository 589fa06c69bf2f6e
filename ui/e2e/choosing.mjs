// Choosing versions: what a build is, in which order, and one branch for all services.
import { check, picture, same, signIn } from "./browser.mjs";

/** The demo's builds of shop-web, the newest first; see tools/images. */
const newest = [
  "fix-checkout-0badf00",
  "feat-cart-redesign-51d0e7b",
  "main-3f2a1bc",
  "feat-cart-redesign-9ae41c2",
  "v1.2.0-rc.1",
  "v1.1.0",
  "v1.0.1",
  "v1.0.0",
];

/** The tags that the open picker shows, of those that are asked for. */
async function shown(picker, among) {
  const titles = await picker.getByRole("option").evaluateAll((all) => all.map((one) => one.title));
  return titles.filter((title) => among.includes(title));
}

export const stories = [
  [
    "choose versions: what each build is, newest or by version, one branch everywhere",
    async ({ page }) => {
      await signIn(page, "/deployments/new?project=shop");
      const sheet = page.getByRole("dialog", { name: "New deployment" });
      await sheet.locator('button.in[data-step="web"]').click();
      const picker = page.getByRole("dialog", { name: "Version of web" });
      const build = picker.getByTitle("feat-cart-redesign-51d0e7b", { exact: true });
      // promise: I-05
      await build
        .getByText(/feat\/cart-redesign @ 51d0e7b · [^·]*\d[^·]* · [^·]*\d[^·]*B/)
        .waitFor();
      // promise: I-05
      same(await shown(picker, newest), newest, "the newest first");
      await picker.getByRole("button", { name: "Version", exact: true }).click();
      await picker.getByRole("listbox", { name: /highest version/i }).waitFor();
      const releases = newest.filter((tag) => tag.startsWith("v"));
      same(await shown(picker, releases), releases, "the highest version first");
      check(
        (await shown(picker, newest))[0] === "v1.2.0-rc.1",
        "by version, a branch's build comes before the releases",
      );
      await page.keyboard.press("Escape");
      await picker.waitFor({ state: "detached" });
      await everywhere(page, sheet);
    },
  ],
];

/** One branch for all: who has a build of it takes that, and who has none its default, which is said. */
async function everywhere(page, sheet) {
  await sheet.getByLabel("Same branch everywhere").fill("feat/cart-redesign");
  await sheet.getByRole("button", { name: "Apply" }).click();
  // promise: I-05
  await sheet
    .getByText("api has no build of feat/cart-redesign. It will run its default, v1.1.0.")
    .waitFor();
  for (const name of ["web: feat-cart-redesign-51d0e7b", "api: v1.1.0"])
    await sheet.getByRole("button", { name: `Version of ${name}`, exact: true }).waitFor();
  await picture(page, "same-branch");
}
