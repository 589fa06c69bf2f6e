// Passkeys, authenticator apps and recovery codes, with Chromium's virtual authenticator.
import { createHmac } from "node:crypto";
import { accessible, check, open, picture, same, send, signIn, until } from "./browser.mjs";
import { fits, looked } from "./looks.mjs";

const WORD = "correct-horse-battery-9";
const AUTHENTICATOR = {
  protocol: "ctap2",
  transport: "internal",
  hasResidentKey: true,
  hasUserVerification: true,
  isUserVerified: true,
  automaticPresenceSimulation: true,
};

/** What an authenticator app shows, some steps from now. */
function codeOf(secret, steps = 0) {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  const bits = [...secret].map((one) => letters.indexOf(one).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => Number.parseInt(byte, 2)));
  const step = Buffer.alloc(8);
  step.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + steps));
  const sum = createHmac("sha1", key).update(step).digest();
  const number = sum.readUInt32BE(sum[19] & 0xf) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, "0");
}

/** A person without rights, and a team of theirs; both go with the story. */
async function person(page) {
  const name = `fay-${Date.now().toString(36)}`;
  await send(page, "PUT", `/users/${name}`, { role: "user", password: WORD });
  await send(page, "PUT", `/teams/${name}`, { members: [name] });
  const leave = async () => {
    await send(page, "DELETE", `/teams/${name}`);
    await send(page, "DELETE", `/users/${name}`);
  };
  return { name, password: WORD, leave };
}

/** A device with a fingerprint reader, which is pressed by itself. */
async function device(context, page) {
  const cdp = await context.newCDPSession(page);
  await cdp.send("WebAuthn.enable");
  const { authenticatorId } = await cdp.send("WebAuthn.addVirtualAuthenticator", {
    options: AUTHENTICATOR,
  });
  return { cdp, authenticatorId };
}

async function addPasskey(page) {
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await page.getByLabel("Name", { exact: true }).fill("laptop");
  await page.getByRole("button", { name: "Continue" }).click();
}

/** The codes that are shown once, which the person says they have kept. */
async function keepCodes(page) {
  const codes = page.getByRole("status").filter({ hasText: "Your recovery codes" });
  await codes.waitFor();
  const all = await codes.getByRole("listitem").allInnerTexts();
  await codes.getByRole("button", { name: "I have kept them" }).click();
  return all;
}

async function addApp(page) {
  await page.getByRole("button", { name: "Add an authenticator app" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
  const secret = await page.locator("code[data-secret]").innerText();
  await looked(page, "the secret of an authenticator app");
  await fits(page, "the secret of an authenticator app", { axe: true });
  const used = codeOf(secret, -1);
  await page.getByLabel("The code that the app shows").fill(used);
  await page.getByRole("button", { name: "Add the app" }).click();
  await page.getByText("Phone", { exact: true }).waitFor();
  return { secret, used };
}

/** Out, and in again with the password, to where the code is asked for. */
async function toCode(page, who) {
  await page.goto("/sign-in");
  await page.getByLabel("User name").fill(who.name);
  await page.getByLabel("Password").fill(who.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByLabel("Code", { exact: true }).waitFor();
}

async function enterCode(page, code) {
  await page.getByLabel("Code", { exact: true }).fill(code);
  await page.getByRole("button", { name: "Continue" }).click();
}

async function signOut(page) {
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL(/\/sign-in/);
}

/** The refusal of a deed that cannot be undone, once, as a session of ten minutes gets it. */
async function asksAgain(page, path) {
  let asked = 0;
  await page.route(path, async (route) => {
    if (asked++ > 0) return route.continue();
    const problem = {
      type: "about:blank",
      title: "Forbidden",
      status: 403,
      code: "step_up_needed",
    };
    await route.fulfill({ status: 403, contentType: "application/problem+json", json: problem });
  });
  return () => asked;
}

/** Removes a factor. The question who one is lies over the one whether to remove it. */
async function removes(page, name, code) {
  await asksAgain(page, "**/api/v1/me/factors/*");
  const row = page.getByRole("listitem").filter({ hasText: name });
  await row.getByRole("button", { name: "Remove" }).click();
  const sure = page.getByRole("dialog", { name: `Remove ${name}?` });
  await sure.getByRole("button", { name: "Remove" }).click();
  const question = page.getByRole("dialog", { name: "Is it still you?" });
  await question.getByLabel("Code of your authenticator app").fill(code);
  await question.getByRole("button", { name: "Confirm" }).click();
  await row.waitFor({ state: "detached" });
  await until("no question is left", async () => (await page.getByRole("dialog").count()) === 0);
}

export const stories = [
  [
    "a passkey signs in, a code is asked for after the password, and each counts once",
    async ({ browser, page }) => {
      await signIn(page);
      const who = await person(page);
      const own = await open(browser);
      try {
        await device(own.context, own.page);
        await signIn(own.page, "/account", who);
        await addPasskey(own.page);
        const codes = await keepCodes(own.page);
        same(codes.length, 8, "recovery codes");
        const { secret, used } = await addApp(own.page);
        await looked(own.page, "the second factors of an account");
        await fits(own.page, "the second factors of an account", { axe: true });
        await signOut(own.page);

        await own.page.getByRole("button", { name: "Use a passkey" }).click();
        // promise: W-03
        await own.page.locator(".app").waitFor();
        await signOut(own.page);

        await toCode(own.page, who);
        await looked(own.page, "the code at sign-in");
        await fits(own.page, "the code at sign-in", { axe: true });
        await enterCode(own.page, used);
        await own.page.getByText("wrong, too old, or was used already").waitFor();
        await enterCode(own.page, codeOf(secret));
        // promise: W-03
        await own.page.locator(".app").waitFor();
        await signOut(own.page);
        await toCode(own.page, who);
        await enterCode(own.page, codes[0]);
        await own.page.locator(".app").waitFor();

        await own.page.goto("/account");
        const asked = await asksAgain(own.page, "**/api/v1/me/recovery-codes");
        await own.page.getByRole("button", { name: "Make new recovery codes" }).click();
        const question = own.page.getByRole("dialog", { name: "Is it still you?" });
        await question.getByRole("button", { name: "Use a passkey" }).waitFor();
        // Not by looked and fits: what is asked for stays busy behind the question.
        await accessible(own.page, "the question who one is");
        await picture(own.page, "the-question-who-one-is");
        await question.getByRole("button", { name: "Use a passkey" }).click();
        // promise: W-03
        const renewed = await keepCodes(own.page);
        check(!renewed.includes(codes[1]), "an old recovery code was kept");
        same(asked(), 2, "times that the request was sent");
        await removes(own.page, "Phone", renewed[0]);
      } finally {
        await own.context.close();
        await who.leave();
      }
    },
  ],
  [
    "a member of a team that requires a second factor sees nothing before it is added",
    async ({ browser, page }) => {
      await signIn(page);
      const who = await person(page);
      await send(page, "PUT", `/teams/${who.name}`, { members: [who.name], second_factor: true });
      const own = await open(browser);
      try {
        await device(own.context, own.page);
        await own.page.goto("/account");
        await own.page.getByLabel("User name").fill(who.name);
        await own.page.getByLabel("Password").fill(who.password);
        await own.page.getByRole("button", { name: "Sign in" }).click();
        await own.page.getByRole("heading", { name: "Add a second factor" }).waitFor();
        await looked(own.page, "a second factor is required");
        await fits(own.page, "a second factor is required", { axe: true });
        await own.page.goto("/deployments");
        await own.page.waitForURL(/\/second-factor/);
        // The session may have been open for long when the rule came.
        await asksAgain(own.page, "**/api/v1/me/passkeys/question");
        await addPasskey(own.page);
        const question = own.page.getByRole("dialog", { name: "Is it still you?" });
        await question.getByLabel("Password").fill(who.password);
        await question.getByRole("button", { name: "Confirm" }).click();
        await keepCodes(own.page);
        // promise: W-03
        await own.page.locator(".app").waitFor();
        await until("it is where it wanted to go", () => own.page.url().includes("/deployments"));
        await picture(own.page, "after-the-second-factor");
      } finally {
        await own.context.close();
        await who.leave();
      }
    },
  ],
];
