// Deployments are strangers to each other, also in one browser.
import { api, check, freshName, picture, RUN, same, signIn, until } from "./browser.mjs";
import { cleanUp, create } from "./main.mjs";

/** Sets so many cookies for a whole domain that no server takes the requests that carry them. */
function flood(domain) {
  for (let i = 0; i < 40; i++) {
    // biome-ignore lint/suspicious/noDocumentCookie: a hostile service does the same
    document.cookie = `junk${i}=${"x".repeat(3800)}; domain=${domain}; path=/`;
  }
  return document.cookie.length;
}

export const stories = [
  [
    "a service floods its neighbours with cookies, and one click brings the application back",
    async ({ page, context }) => {
      await signIn(page);
      const made = await create(page, freshName("flood"));
      const read = () => api(page, `/deployments/${made.id}`);
      await until("ready", async () => (await read()).status === "ready", RUN);
      const exposed = (await read()).services.filter((one) => one.url);
      const urls = exposed.map((one) => new URL(one.url).href);
      check(urls.length > 1, `one service alone has a URL: ${urls}`);
      const [neighbour, target] = urls;
      const other = await context.newPage();
      const visit = async (url) => (await other.goto(url)).status();
      await until("it answers", async () => (await visit(target).catch(() => 0)) === 200, RUN);
      const application = await other.locator("body").innerText();
      // The page of what is still starting asks again by itself. With the flood it would be refused
      // in the background, and the refusal would clear the cookies before the application is opened.
      const settled = async () => (await visit(neighbour).catch(() => 503)) < 500;
      await until("so does the other", settled, RUN);
      await other.waitForLoadState("networkidle");
      // The environment's domain: what all its deployments have in common.
      const domain = new URL(target).hostname.split(".").slice(2).join(".");
      check((await other.evaluate(flood, domain)) > 100_000, "the browser keeps no such cookies");
      same(await visit(target), 431, "the flooded application");
      await other.getByRole("heading", { name: /too many cookies/ }).waitFor();
      await picture(other, "cookies");
      const [again] = await Promise.all([
        other.waitForResponse((response) => response.url() === target),
        other.getByRole("link", { name: "Load again" }).click(),
      ]);
      same(again.status(), 200, "after the click");
      await until("the application is back", async () => {
        const text = await other.locator("body").innerText();
        return text.slice(0, 40) === application.slice(0, 40);
      });
      same(await other.evaluate(() => document.cookie), "", "cookies that are left");
      await other.close();
      await cleanUp(page, made.id);
    },
  ],
];
