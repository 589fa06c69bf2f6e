// Somebody tests behind a gate: whoever would interrupt them reads who it is.
import {
  accessible,
  api,
  check,
  freshName,
  open,
  picture,
  RUN,
  same,
  send,
  signIn,
  until,
} from "./browser.mjs";
import { cleanUp, create, pill } from "./main.mjs";
import { invite } from "./people.mjs";

/** Both widths of what is on the screen, and nothing that runs out of the narrow one. */
async function pictures(page, name) {
  await accessible(page, name);
  await picture(page, name);
  await page.setViewportSize({ width: 390, height: 844 });
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  check(over <= 0, `${name} is ${over} px too wide at 390`);
  await picture(page, `${name}-390`);
  await page.setViewportSize({ width: 1440, height: 900 });
}

/** The tester opens the URL, signed in as they are, and the ingress tells of it. */
async function visits(page, tester, made) {
  const { services } = await api(page, `/deployments/${made.id}`);
  const { url } = services.find((one) => one.url);
  await until("the application answers", async () => (await tester.goto(url))?.status() === 200);
  const here = async () => {
    await tester.reload();
    return (await api(page, `/deployments/${made.id}`)).visitors?.[0];
  };
  return until("the tester is known to be there", here, RUN);
}

export const stories = [
  [
    "who tests behind a gate is named in the list, on the page and before a deletion",
    async ({ page, browser }) => {
      await signIn(page);
      const made = await create(page, freshName("busy"));
      const { viewer, leave } = await invite(page);
      const theirs = await open(browser);
      try {
        await until("ready", async () => (await pill(page).innerText()) === "Ready", RUN);
        await send(page, "PUT", `/deployments/${made.id}/gate`, { gate: "members" });
        await signIn(theirs.page, "/deployments", viewer);
        const visitor = await visits(page, theirs.page, made);
        same([visitor.kind, visitor.name], ["person", viewer.name], "who is there");

        await page.reload();
        const named = new RegExp(`${viewer.name}, last request`);
        // promise: W-05
        await page.getByText(named).first().waitFor();
        await pictures(page, "presence-page");
        await page.getByRole("button", { name: "Delete" }).click();
        const question = page.getByRole("dialog", { name: `Delete ${made.name}?` });
        // promise: W-05
        await question.getByText(new RegExp(`In use right now: ${viewer.name}, `)).waitFor();
        await pictures(page, "presence-question");
        await page.keyboard.press("Escape");
        await question.waitFor({ state: "detached" });
        same((await api(page, `/deployments/${made.id}`)).goal ?? "present", "present", "the goal");

        await page.goto(`/deployments?q=${made.name}`);
        // promise: W-05
        await page.getByText("1 here").first().waitFor();
        await pictures(page, "presence-list");
      } finally {
        await theirs.context.close();
        await cleanUp(page, made.id);
        await leave();
      }
    },
  ],
];
