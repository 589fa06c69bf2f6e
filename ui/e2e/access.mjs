// Getting in, and what the page is allowed to do.
import { check, password, same, signIn, trouble, until, user } from "./browser.mjs";

const POLICY = "Content Security Policy";

/** By which word of the policy each attempt is refused, in the alphabet's order. */
const TRIED = [
  "connect-src",
  "frame-src",
  "img-src",
  "script-src-elem",
  "script-src-elem",
  "style-src-attr",
  "style-src-elem",
  "style-src-elem",
];

/** What a line of somebody else's would try: its own code, its own looks, and another site's. */
function tries(page) {
  return page.evaluate(async (wanted) => {
    const refused = [];
    document.addEventListener("securitypolicyviolation", (event) =>
      refused.push(event.effectiveDirective),
    );
    const elsewhere = "https://evil.example/x";
    const add = (tag, of) => document.body.append(Object.assign(document.createElement(tag), of));
    add("script", { textContent: "window.hacked = 'inline'" });
    add("script", { src: elsewhere });
    add("style", { textContent: "body { outline: 1px solid }" });
    add("link", { rel: "stylesheet", href: elsewhere });
    add("img", { src: elsewhere });
    add("iframe", { src: elsewhere });
    document.body.setAttribute("style", "outline: 1px solid");
    await fetch(elsewhere).catch(() => undefined);
    for (let i = 0; i < 50 && refused.length < wanted; i++)
      await new Promise((done) => setTimeout(done, 100));
    return refused.sort();
  }, TRIED.length);
}

export const stories = [
  [
    "a stranger is sent to sign in, and on to where they wanted to go",
    async ({ page }) => {
      await page.goto("/projects");
      await page.waitForURL(/\/sign-in\?next=/);
      await signIn(page, page.url());
      await page.waitForURL(/\/projects$/);
    },
  ],
  [
    "a wrong password is refused in words, at the field",
    async ({ page }) => {
      await page.goto("/sign-in");
      await page.getByLabel("User name").fill(user);
      await page.getByLabel("Password").fill(`${password}x`);
      await page.getByRole("button", { name: "Sign in" }).click();
      const alert = page.getByRole("alert");
      await alert.waitFor();
      check((await alert.innerText()).length > 10, "the refusal says nothing");
      same(
        await page.getByLabel("Password").getAttribute("aria-invalid"),
        "true",
        "the field is marked",
      );
    },
  ],
  [
    "a link cannot send people elsewhere after they signed in",
    async ({ page }) => {
      await signIn(page, "/sign-in?next=https%3A%2F%2Fevil.example%2F");
      await page.waitForURL(/\/deployments$/);
    },
  ],
  [
    "the policy allows no inline script or style, and no foreign script, style, image, frame or request",
    async ({ page }) => {
      const response = await page.goto("/sign-in");
      const policy = response.headers()["content-security-policy"] ?? "";
      check(policy.includes("default-src 'self'"), `policy is “${policy}”`);
      check(!/unsafe-eval|script-src[^;]*unsafe-inline/.test(policy), `policy is “${policy}”`);
      const before = trouble.length;
      same(await tries(page), TRIED, "what the policy refused");
      same(
        await page.evaluate(() => [window.hacked, getComputedStyle(document.body).outlineStyle]),
        [null, "none"],
        "what ran or was drawn all the same",
      );
      // The browser complains in the console, as it should: that is no trouble of the page.
      const complaints = () => trouble.slice(before).filter((line) => line.includes(POLICY));
      await until("the complaints", () => complaints().length >= TRIED.length);
      const others = trouble.slice(before).filter((line) => !line.includes(POLICY));
      trouble.splice(before, trouble.length, ...others);
    },
  ],
  [
    "signing out ends the session",
    async ({ page }) => {
      await signIn(page);
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.waitForURL(/\/sign-in/);
      await page.goto("/deployments");
      await page.waitForURL(/\/sign-in\?next=/);
    },
  ],
  [
    "only with the keyboard: sign in, filter, open the sheet, close it; the filter stays",
    async ({ page }) => {
      await page.goto("/sign-in");
      await until("the user name has the focus", () =>
        page.evaluate(() => document.activeElement?.getAttribute("name") === "user"),
      );
      await page.keyboard.type(user);
      await page.keyboard.press("Tab");
      await page.keyboard.type(password);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Deployments" }).waitFor();
      await page.keyboard.press("/");
      await page.keyboard.type("zzz-nothing");
      await page
        .getByText("No deployment matches")
        .or(page.getByText("Nothing runs here yet"))
        .waitFor();
      await page.keyboard.press("Enter");
      await page.keyboard.press("n");
      await page.getByRole("dialog", { name: "New deployment" }).waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      const back = new URL(page.url());
      same(back.pathname, "/deployments", "back on the list");
      same(back.searchParams.get("q"), "zzz-nothing", "the filter of the list");
    },
  ],
];
