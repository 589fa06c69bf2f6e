// A tester judges what runs, and a person signs a program in by the code that it shows.
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

/** What was said stands beside what was said about, and in the deployment's header. */
async function judges(page, made) {
  await page.goto(`/d/${made.id}/verdict`);
  await page.getByText("A verdict is about the images that run here now.").waitFor();
  await pictures(page, "verdict-empty");
  await page.getByLabel("Passed with remarks").check();
  await page
    .getByRole("textbox", { name: "Remarks" })
    .fill("The cart keeps its goods, but is slow.");
  await page.getByRole("button", { name: "Say it" }).click();
  const said = page.getByRole("article").first();
  await said.getByText("The cart keeps its goods, but is slow.").waitFor();
  const { items } = await api(page, `/deployments/${made.id}/verdicts`);
  // promise: W-06
  same(items.length, 1, "verdicts");
  const images = await said.getByRole("listitem").allInnerTexts();
  for (const { image, digest } of items[0].images)
    check(
      images.some((line) => line.includes(image) && line.includes(digest.slice(0, 19))),
      `${image} is not named: ${images}`,
    );
  await said
    .getByText(/ is being attached$/)
    .first()
    .waitFor({ state: "detached" });
  for (const line of await said.getByRole("listitem").allInnerTexts())
    check(/ sha256:[0-9a-f]+ attached$/.test(line.trim()), `not attached: ${line}`);
  await pictures(page, "verdict");
}

/** The page says what asks; denied, the program learns of it and gets nothing. */
async function denies(page) {
  const asked = await send(page, "POST", "/device-logins", { name: "nullops on a laptop" });
  await page.goto("/device");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByText("Type the code that the program shows.").waitFor();
  await pictures(page, "device");
  await page.getByLabel("Code").fill(asked.user_code.toLowerCase());
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByText("nullops on a laptop asks to be signed in").waitFor();
  await pictures(page, "device-question");
  await page.getByRole("button", { name: "Deny" }).click();
  await page.getByText("Denied. The program has been told.").waitFor();
  const poll = await page.evaluate(async (device_code) => {
    const headers = { "Content-Type": "application/json" };
    const body = JSON.stringify({ device_code });
    const response = await fetch("/api/v1/device-logins/token", { method: "POST", headers, body });
    return (await response.json()).code;
  }, asked.device_code);
  same(poll, "access_denied", "what the program learns");
}

export const stories = [
  [
    "a tester with that right says a verdict on the images that run",
    async ({ page, browser }) => {
      await signIn(page);
      const made = await create(page, freshName("judged"));
      const { viewer, leave } = await invite(page);
      const theirs = await open(browser);
      try {
        await send(page, "PUT", `/teams/${viewer.name}`, {
          members: [viewer.name],
          grants: [{ project: "shop", level: "read" }],
          verdicts: true,
        });
        await until("ready", async () => (await pill(page).innerText()) === "Ready", RUN);
        await signIn(theirs.page, "/deployments", viewer);
        await judges(theirs.page, made);
      } finally {
        await theirs.context.close();
        await cleanUp(page, made.id);
        await leave();
      }
    },
  ],
  [
    "a program shows a code, and a person who did not start it denies it",
    async ({ page }) => {
      await signIn(page);
      await denies(page);
    },
  ],
];
