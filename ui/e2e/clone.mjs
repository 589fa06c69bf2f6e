// A clone says before it is made what it will not have in common with its source.
import { api, check, freshName, picture, same, send, signIn } from "./browser.mjs";
import { cleanUp, create, pill } from "./main.mjs";

/** A service behind a question: its deployments can be cloned and pull nothing. */
function drawn(memory, env) {
  return [
    { key: "go", needs: [], approval: { prompt: "Shall it go on?" } },
    { key: "web", needs: ["go"], service: { name: "shop-web", resources: memory, env } },
  ];
}

/** Each list is one edit more than the one before: a value, a limit, a step. */
const FIRST = drawn({ memory_mib: 64 }, { GREETING: "hello" });
const EDITS = [
  drawn({ memory_mib: 64 }, { GREETING: "good evening" }),
  drawn({ memory_mib: 96 }, { GREETING: "good evening" }),
  [
    ...drawn({ memory_mib: 96 }, { GREETING: "good evening" }),
    { key: "signed", needs: ["web"], approval: { prompt: "Is it signed?" } },
  ],
];

/** What the sheet has to say of them: of each edit its place, what was there and what will be. */
const SAID = [
  "signed added",
  "web changed",
  "variable GREETING hello → good evening",
  "memory in MiB 64 → 96",
];

const publish = (page, name, steps) =>
  send(page, "PUT", `/projects/${name}/pipeline`, { pipeline: { steps } });

/** Opens the sheet from the deployment's page, as a person does; gives what it says will differ. */
async function sheetOf(page, made) {
  await page.goto(`/d/${made.id}/run`);
  await pill(page).waitFor();
  await page.locator(".acts").getByRole("link", { name: "Clone", exact: true }).click();
  const sheet = page.getByRole("dialog", { name: `Clone ${made.name}` });
  return sheet.getByRole("region", { name: "What will differ" });
}

/** Each entry of the list with its own words only, not those of the list inside of it. */
async function entries(differs) {
  const own = await differs.locator("li").evaluateAll((all) =>
    all.map((one) => {
      const alone = one.cloneNode(true);
      for (const inner of alone.querySelectorAll("ul")) inner.remove();
      return alone.textContent.replace(/\s+/g, " ").trim();
    }),
  );
  return own.sort();
}

/** Offers what is newest of the source's branch: of the shop's tags one of another branch is newer. */
async function newestOfBranch(page, made) {
  await page.goto(`/d/${made.id}/run`);
  await page.locator(".acts").getByRole("link", { name: "Clone", exact: true }).click();
  const sheet = page.getByRole("dialog", { name: `Clone ${made.name}` });
  const sheetOfApi = await api(page, `/deployments/${made.id}/clone-sheet`);
  const { newest_tag: newest } = sheetOfApi.services.find(({ step }) => step === "web");
  check(newest !== BUILT, "the newest of all is the newest of the branch: this shows nothing");
  // promise: U-04
  await sheet
    .getByRole("button", { name: `Take the newest of feat/cart-redesign: ${BUILT}` })
    .click();
  await sheet.getByRole("button", { name: `Version of web: ${BUILT}` }).waitFor();
  same(await sheet.getByText(newest, { exact: true }).count(), 0, "offers of other branches");
  await picture(page, "clone-branch");
}

const OLDER = "feat-cart-redesign-9ae41c2";
const BUILT = "feat-cart-redesign-51d0e7b";

export const stories = [
  [
    "a clone of a branch offers the newest build of that branch, and of no other",
    async ({ page }) => {
      await signIn(page);
      const project = freshName("branches");
      await send(page, "PUT", `/projects/${project}`, { resources: { memory_mib: 128 } });
      let made;
      try {
        await publish(page, project, FIRST);
        const body = { name: freshName("older"), project, environment: "qa" };
        made = await send(page, "POST", "/deployments", { ...body, versions: { web: OLDER } });
        await newestOfBranch(page, made);
      } finally {
        if (made) await cleanUp(page, made.id);
        await send(page, "DELETE", `/projects/${project}`);
      }
    },
  ],
  [
    "a clone says of each edit what was and what will be, and of none that nothing has changed",
    async ({ page }) => {
      await signIn(page);
      const project = freshName("clones");
      await send(page, "PUT", `/projects/${project}`, { resources: { memory_mib: 128 } });
      let made;
      try {
        await publish(page, project, FIRST);
        made = await create(page, freshName("source"), project);
        const unchanged = await sheetOf(page, made);
        // promise: I-06
        await unchanged.getByText("Pipeline unchanged, v1", { exact: true }).waitFor();
        // promise: I-06
        same(await entries(unchanged), [], "what differs where nothing was changed");
        for (const steps of EDITS) await publish(page, project, steps);
        const differs = await sheetOf(page, made);
        await differs.getByText("Pipeline v1 → v4", { exact: true }).waitFor();
        // promise: I-06
        same(await entries(differs), [...SAID].sort(), "one entry for each edit");
        await picture(page, "clone-differs");
      } finally {
        if (made) await cleanUp(page, made.id);
        await send(page, "DELETE", `/projects/${project}`);
      }
    },
  ],
];
