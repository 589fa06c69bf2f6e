// Getting in, and what the page is allowed to do.
import { check, password, same, signIn, trouble, until, user } from "./browser.mjs";

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
    "the policy allows no inline script and no foreign source",
    async ({ page }) => {
      const response = await page.goto("/sign-in");
      const policy = response.headers()["content-security-policy"] ?? "";
      check(policy.includes("default-src 'self'"), `policy is “${policy}”`);
      check(!/unsafe-eval|script-src[^;]*unsafe-inline/.test(policy), `policy is “${policy}”`);
      const ran = await page.evaluate(() => {
        const script = document.createElement("script");
        script.textContent = "window.hacked = true";
        document.head.append(script);
        return window.hacked === true;
      });
      check(!ran, "an inline script ran");
      // The browser complains in the console, as it should: that is no trouble of the page.
      await until("the complaint", () => trouble.some((line) => line.includes("inline script")));
      trouble.splice(
        0,
        trouble.length,
        ...trouble.filter((line) => !line.includes("inline script")),
      );
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
