// People talk where the deployment is: comments with mentions, and the notices they leave.
import {
  accessible,
  api,
  check,
  freshName,
  open,
  picture,
  same,
  send,
  signIn,
  until,
} from "./browser.mjs";
import { waiting } from "./life.mjs";
import { cleanUp, create } from "./main.mjs";
import { invite } from "./people.mjs";

/** A tester mentions the engineer by what is offered while the name is typed. */
async function mentions(page, made, engineer) {
  await page.goto(`/d/${made.id}/comments`);
  const text = page.getByLabel("Your comment");
  await text.fill("<b>Look</b> at the cart, @lena");
  await page.getByRole("button", { name: `Mention ${engineer.name}` }).click();
  await text.press("End");
  await text.pressSequentially("and @nobody-here");
  await text.press("Control+Enter");
  const said = page.getByRole("article").first();
  await said.getByText(`@${engineer.name}`, { exact: true }).waitFor();
  // Plain text: what looks like an element is shown as it was written.
  check((await said.innerText()).includes("<b>Look</b> at the cart"), "the text is not as written");
  await page.getByText("Nobody who may see this deployment has the name nobody-here.").waitFor();
  await accessible(page, "comments");
  await picture(page, "comments");
}

/** The bell counts it, the page shows it, and reading it takes it out of the count. */
async function reads(page, made, viewer) {
  const bell = page.getByRole("link", { name: /^Notices/ });
  await until("the bell counts", async () => /1/.test(await bell.innerText()), 60_000);
  await bell.click();
  const notice = page.getByRole("link", { name: `${viewer.name} mentioned you on ${made.name}` });
  await notice.waitFor();
  await accessible(page, "notices");
  await picture(page, "notices");
  await page.setViewportSize({ width: 390, height: 844 });
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  check(over <= 0, `notices are ${over} px too wide at 390`);
  await picture(page, "notices-390");
  await page.setViewportSize({ width: 1440, height: 900 });
  await notice.click();
  await page.waitForURL(new RegExp(`/d/${made.id}/comments`));
  await page.getByRole("article").first().waitFor();
  same((await api(page, "/me/inbox")).unread, 0, "what is not read");
}

export const stories = [
  [
    "a tester mentions an engineer in a comment, who reads it where the deployment is",
    async ({ page, browser }) => {
      await signIn(page);
      const project = await waiting(page);
      const { engineer, viewer, leave } = await invite(page, [project]);
      const [theirs, mine] = [await open(browser), await open(browser)];
      let made;
      try {
        made = await create(page, freshName("talk"), project);
        await signIn(theirs.page, "/deployments", viewer);
        await mentions(theirs.page, made, engineer);
        await signIn(mine.page, "/deployments", engineer);
        await reads(mine.page, made, viewer);
      } finally {
        await theirs.context.close();
        await mine.context.close();
        if (made) await cleanUp(page, made.id);
        await leave();
        await send(page, "DELETE", `/projects/${project}`);
      }
    },
  ],
];
