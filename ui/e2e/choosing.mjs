// Choosing versions: what a build is, in which order, and one branch for all services.
import { check, freshName, open, picture, same, send, signIn, until } from "./browser.mjs";
import { invite } from "./people.mjs";
import { serveTags } from "./registry.mjs";

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
      for (const column of ["feat/cart-redesign", "51d0e7b"])
        await build.getByText(column, { exact: true }).waitFor();
      // promise: I-05
      await build.getByText(/^\d+ (s|min|h|d)$|^now$/).waitFor();
      // promise: I-05
      same(await shown(picker, newest), newest, "the newest first");
      await picker.getByRole("button", { name: "Version", exact: true }).click();
      // The list before it stays until the answer is there.
      await picker.locator('[aria-label*="highest version"][aria-busy="false"]').waitFor();
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
  [
    "choose among twenty thousand tags: searched, in both orders, by pattern, and what is pushed appears",
    async ({ page, browser }) => {
      await signIn(page);
      const { project, builds, leave } = await large(page);
      const people = await invite(page, [project]);
      const mine = await open(browser);
      try {
        await signIn(mine.page, `/deployments/new?project=${project}`, people.engineer);
        const sheet = mine.page.getByRole("dialog", { name: "New deployment" });
        await among(mine.page, sheet);
        await filtered(mine.page, sheet);
        await pushed(mine.page, sheet, builds);
        await ofOneBranch(sheet);
      } finally {
        await mine.context.close();
        await people.leave();
        await leave();
      }
    },
  ],
];

const MANY = 20_000;
const MINUTE = 60_000;
/** Built after all others, though nine have a higher version. */
const LATEST = "v1.19990.0";
/** Lets eleven of them through. */
const PATTERN = "v1.1999*";

/** Releases of main, the higher the later, and two builds of a branch. */
function manyBuilds() {
  const builds = new Map();
  const add = (tag, minutes, branch, commit) =>
    builds.set(tag, { at: new Date(Date.now() - minutes * MINUTE).toISOString(), branch, commit });
  for (let i = 0; i < MANY; i++)
    add(`v1.${i}.0`, 100 + MANY - i, "main", `c0ffee${String(i).padStart(5, "0")}`);
  add(LATEST, 5, "main", "c0ffee19990");
  add("feat-wide-1a2b3c4", 60, "feat/wide", "1a2b3c4");
  add("feat-wide-5d6e7f8", 30, "feat/wide", "5d6e7f8");
  return builds;
}

/** A project of two services of one image, the second with a pattern; it goes with the story. */
async function large(page) {
  const [project, builds] = [freshName("large"), manyBuilds()];
  const own = await serveTags(builds);
  const services = [`${project}-all`, `${project}-some`];
  await send(page, "PUT", `/registries/${project}`, { host: own.host, insecure: true });
  const of = { registry: project, image: "shop/web", tag_mode: "selectable" };
  await send(page, "PUT", `/services/${services[0]}`, of);
  await send(page, "PUT", `/services/${services[1]}`, { ...of, pattern: PATTERN });
  await send(page, "PUT", `/projects/${project}`, { resources: { memory_mib: 256 } });
  const steps = ["all", "some"].map((key, i) => ({
    key,
    needs: [],
    service: { name: services[i], resources: { memory_mib: 64 } },
  }));
  await send(page, "PUT", `/projects/${project}/pipeline`, { pipeline: { steps } });
  const leave = async () => {
    await send(page, "DELETE", `/projects/${project}`);
    for (const one of services) await send(page, "DELETE", `/services/${one}`);
    await send(page, "DELETE", `/registries/${project}`);
    own.close();
  };
  return { project, builds, leave };
}

/** The open picker of a step. */
async function picks(page, sheet, step) {
  await sheet.locator(`button.in[data-step="${step}"]`).click();
  const picker = page.getByRole("dialog", { name: `Version of ${step}`, exact: true });
  await picker.getByRole("option").first().waitFor();
  return picker;
}

const titles = (picker) =>
  picker.getByRole("option").evaluateAll((all) => all.map((one) => one.title));

/** Without a pattern all tags are there, the newest first, then the highest, then what is searched. */
async function among(page, sheet) {
  const picker = await picks(page, sheet, "all");
  const all = (MANY + 2).toLocaleString("en");
  // promise: N-030
  await picker.getByText(`${all} of ${all} tags`, { exact: true }).waitFor();
  // promise: I-05
  same((await titles(picker))[0], LATEST, "the newest of all");
  const latest = picker.getByRole("option").filter({ has: page.getByText(LATEST) });
  // promise: I-05
  for (const column of ["main", "c0ffee1", /^[5-9] min$/])
    await latest.getByText(column, { exact: true }).waitFor();
  await latest
    .getByTitle(/^main @ c0ffee19990 · .* · 7\.3 MB$/)
    .first()
    .waitFor();
  await picker.getByRole("button", { name: "Version", exact: true }).click();
  const highest = ["v1.19999.0", "v1.19998.0", "v1.19997.0"];
  // promise: I-05
  await until(
    "the highest version of all first",
    async () => (await titles(picker)).slice(0, 3).join() === highest.join(),
  );
  const search = picker.getByRole("combobox", { name: "Search tags" });
  await search.fill("1.12345");
  // promise: I-05
  await until(
    "the one that is searched",
    async () => (await titles(picker)).join() === "v1.12345.0",
  );
  await picture(page, "twenty-thousand-tags");
  await search.press("Enter");
  await sheet.getByRole("button", { name: "Version of all: v1.12345.0", exact: true }).waitFor();
}

/** With a pattern only what it lets through is there. */
async function filtered(page, sheet) {
  const picker = await picks(page, sheet, "some");
  const wanted = [...Array(10).keys()].map((i) => `v1.1999${i}.0`);
  // promise: N-028
  same((await titles(picker)).sort(), ["v1.1999.0", ...wanted].sort(), "through the pattern");
  await picker.getByText(`11 of ${(MANY + 2).toLocaleString("en")} tags match`).waitFor();
  await page.keyboard.press("Escape");
  await picker.waitFor({ state: "detached" });
}

/** What is pushed while the picker is open appears in it; no admin does anything for that. */
async function pushed(page, sheet, builds) {
  const picker = await picks(page, sheet, "some");
  const built = { at: new Date().toISOString(), branch: "main", commit: "0ddba11" };
  builds.set("v1.19999.1", built);
  builds.set("hotfix-9", built);
  // promise: N-029
  await until("the pushed tag", async () => {
    await picker.getByRole("button", { name: "Refresh" }).click();
    return (await titles(picker)).includes("v1.19999.1");
  });
  // promise: N-028
  check(!(await titles(picker)).includes("hotfix-9"), "what the pattern keeps out is offered");
  await picker.getByText(`12 of ${(MANY + 4).toLocaleString("en")} tags match`).waitFor();
  await page.keyboard.press("Escape");
  await picker.waitFor({ state: "detached" });
}

/** The newest build of a branch is found behind thousands of releases; the other takes none of it. */
async function ofOneBranch(sheet) {
  await sheet.getByLabel("Same branch everywhere").fill("feat/wide");
  await sheet.getByRole("button", { name: "Apply" }).click();
  // promise: I-05
  await sheet
    .getByRole("button", { name: "Version of all: feat-wide-5d6e7f8", exact: true })
    .waitFor();
  await sheet.getByText(/some stays at/).waitFor();
}

/** One branch for all: who has a build of it takes that, and who has none stays, which is said. */
async function everywhere(page, sheet) {
  await sheet.getByLabel("Same branch everywhere").fill("feat/cart-redesign");
  await sheet.getByRole("button", { name: "Apply" }).click();
  // promise: I-05
  for (const said of ["api stays at v1.1.0.", "No tag of this branch."])
    await sheet.getByText(said, { exact: true }).waitFor();
  for (const name of ["web: feat-cart-redesign-51d0e7b", "api: v1.1.0"])
    await sheet.getByRole("button", { name: `Version of ${name}`, exact: true }).waitFor();
  await picture(page, "same-branch");
}
