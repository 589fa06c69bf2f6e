// A machine joins through the pages, comes back with a certificate nobody has seen, is switched off and on, edited and
// drained, and gets and loses its token.
import { spawn } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { accessible, api, check, freshName, picture, same, send, signIn } from "./browser.mjs";

/** A tmpfs: an agent keeps secrets nowhere else. */
const SHM = "/dev/shm";

export async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

/** An agent of the story's own, of which nothing stays. */
export async function agent() {
  const { NULLOPS_TEST_BINARY: binary, NULLOPS_TEST_DOCKER: docker } = process.env;
  check(binary && docker, "NULLOPS_TEST_BINARY and NULLOPS_TEST_DOCKER are set by `make test`");
  const address = `127.0.0.1:${await freePort()}`;
  const data = await mkdtemp(join(tmpdir(), "nullops-story-"));
  const run = await mkdtemp(join(SHM, "nullops-story-"));
  let child;
  const start = (token) => {
    const set = { listen: address, data, run, docker };
    const flags = Object.entries(set).map(([name, value]) => `--agent.${name}=${value}`);
    child = spawn(binary, ["agent", ...flags, "--agent.guard=false"], {
      // Where a CLI finds its control plane is no setting of an agent.
      env: { ...process.env, NULLOPS_URL: undefined, AGENT_TOKEN: token },
      stdio: "ignore",
    });
  };
  const stop = async () => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((done) => child.once("exit", done));
    child.kill("SIGTERM");
    await ended;
  };
  /** Its key and certificate are gone, as after an installation from nothing. */
  const forget = async () => {
    const files = (await readdir(data)).filter((name) => name.endsWith(".pem"));
    check(files.length > 0, `no certificate in ${data}`);
    for (const name of files) await rm(join(data, name));
  };
  const leave = async () => {
    await stop();
    for (const folder of [data, run]) await rm(folder, { recursive: true, force: true });
  };
  return { address, start, stop, forget, leave };
}

/** Added on the page; the line it shows is the one that joins it. */
export async function added(page, name, environment, there) {
  await page.goto("/nodes?add=true");
  const sheet = page.getByRole("dialog", { name: "Add a node" });
  await sheet.getByLabel("Name").fill(name);
  await sheet.getByRole("combobox", { name: /^Environment/ }).click();
  await page.getByRole("option", { name: environment, exact: true }).click();
  await sheet.getByLabel("Address").fill(there.address);
  await sheet.getByRole("button", { name: "Add node" }).click();
  const line = page.getByRole("dialog", { name: `Run this on ${name}` });
  await line.waitFor();
  const token = /nopa1_[\w-]+/.exec(await line.innerText())?.[0];
  check(token, "no token is shown");
  there.start(token);
  await line.getByText("The agent answered and proved the token.").waitFor({ timeout: 120_000 });
  await line.getByRole("button", { name: "Done" }).click();
  return token;
}

const says = (page, state) =>
  page.locator(".dh .pill").getByText(state, { exact: true }).waitFor({ timeout: 120_000 });
const seen = (page) => page.locator(".thumb").allInnerTexts();

/** How it is reached, what it is, and what it showed: all on its own page. */
async function details(page, name, there) {
  await page.goto(`/nodes/${name}`);
  await says(page, "Online");
  // promise: N-306
  await page.getByText(there.address, { exact: true }).first().waitFor();
  const { thumbprint } = await api(page, `/nodes/${name}`);
  const plain = (text) =>
    text
      .replace(/^sha256:/, "")
      .replace(/[^0-9a-f]/gi, "")
      .toLowerCase();
  // promise: N-306
  same((await seen(page)).map(plain), [plain(thumbprint)], "the thumbprint on its page");
}

/** Another certificate: both are shown whole, and it is reached again once somebody approved the new one. */
async function approves(page, name, token, there) {
  const before = await api(page, `/nodes/${name}`);
  await there.stop();
  await says(page, "Offline");
  await there.forget();
  there.start(token);
  await says(page, "Untrusted");
  const box = page.getByRole("region", {
    name: `${name} shows a certificate we have not seen before`,
  });
  await box.getByText("It proved the token over this connection").waitFor();
  const { pending_thumbprint: pending } = await api(page, `/nodes/${name}`);
  check(pending && pending !== before.thumbprint, "the certificate is the one from before");
  same(await box.locator(".thumb").count(), 2, "thumbprints to compare");
  await accessible(page, "a node with a certificate nobody has seen");
  await picture(page, "node-untrusted");
  await box.getByRole("button", { name: "Approve this certificate" }).click();
  // promise: N-208, N-306
  await says(page, "Online");
  same((await api(page, `/nodes/${name}`)).thumbprint, pending, "the approved certificate");
}

/** Switched off, it takes nothing; switched on, it is back. */
async function switches(page, name) {
  await page.getByRole("button", { name: "Disable" }).click();
  await page
    .getByRole("dialog", { name: `Disable ${name}?` })
    .getByRole("button", { name: "Disable" })
    .click();
  // promise: N-306
  await says(page, "Disabled");
  same((await api(page, `/nodes/${name}`)).enabled, false, "enabled by the API's word");
  await page.getByRole("button", { name: "Enable" }).click();
  // promise: N-306
  await says(page, "Online");
}

const press = (page, name) =>
  page.locator(".acts").getByRole("button", { name, exact: true }).click();

/** Labels, taints and limits: a wrong line is named, and what was saved stands on the page. */
async function edits(page, name) {
  await page.goto(`/nodes/${name}`);
  await says(page, "Online");
  await press(page, "Edit");
  const sheet = page.getByRole("dialog", { name: `Edit ${name}` });
  await sheet.getByLabel("Labels").fill("zone = fra");
  await sheet.getByLabel("Runs at once").fill("2");
  await sheet.getByRole("button", { name: /^Save/ }).click();
  await sheet.getByText('"zone = fra" is no label.').waitFor();
  await accessible(page, "a node's settings, one of them refused");
  await sheet.getByLabel("Labels").fill("zone=fra\nssd");
  await sheet.getByLabel("Taints").fill("slow:prefer_no_schedule");
  await picture(page, "node-edit");
  await sheet.getByRole("button", { name: /^Save/ }).click();
  await sheet.waitFor({ state: "detached" });
  for (const text of ["ssd", "zone=fra", "slow:prefer_no_schedule", "2 runs"])
    await page.locator(".kv").getByText(text, { exact: true }).waitFor();
  const { settings } = await api(page, `/nodes/${name}`);
  same([settings.labels, settings.run_limit], [{ ssd: "", zone: "fra" }, 2], "what was saved");
  await press(page, "Edit");
  same(await sheet.getByLabel("Labels").inputValue(), "ssd\nzone=fra", "the labels, once more");
  await sheet.getByRole("button", { name: "Close" }).last().click();
}

/** Nothing begins before it is known what is there; a deadline goes along, and the end of it too. */
async function drains(page, name) {
  await press(page, "Drain");
  const asks = page.getByRole("dialog", { name: `Drain ${name}?` });
  await asks.getByText("Nothing is on it.").waitFor();
  await asks.getByLabel("Empty by").fill("2020-01-01T10:00");
  await asks.getByRole("button", { name: "Drain", exact: true }).click();
  await asks.getByText("Choose a time in the future, or none.").waitFor();
  await accessible(page, "a drain that is asked for");
  const year = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
  await asks.getByLabel("Empty by").fill(`${year}T10:00`);
  await picture(page, "node-drain");
  await asks.getByRole("button", { name: "Drain", exact: true }).click();
  const box = page.getByRole("region", { name: `Draining ${name}` });
  await box.getByText("Drained", { exact: true }).waitFor();
  await box.getByText("Should be empty by").waitFor();
  check((await api(page, `/nodes/${name}`)).drain.deadline, "the drain has no deadline");
  await box.getByRole("button", { name: "End the drain" }).click();
  await box.waitFor({ state: "detached" });
  check(!(await api(page, `/nodes/${name}`)).drain, "the node is drained all the same");
}

/** A new token: the old one is refused, and the line shown is the one that brings it back. */
async function rotates(page, name, token, there) {
  await press(page, "Rotate token");
  await page
    .getByRole("dialog", { name: `Give ${name} a new token?` })
    .getByRole("button", { name: "Rotate token" })
    .click();
  const line = page.getByRole("dialog", { name: `Run this on ${name}` });
  await line.waitFor();
  const fresh = /nopa1_[\w-]+/.exec(await line.innerText())?.[0];
  check(fresh && fresh !== token, "no new token is shown");
  await line.getByRole("button", { name: "Done" }).click();
  await says(page, "Offline");
  await there.stop();
  there.start(fresh);
  await says(page, "Online");
}

async function revokes(page, name) {
  await press(page, "Revoke token");
  await page
    .getByRole("dialog", { name: `Revoke the token of ${name}?` })
    .getByRole("button", { name: "Revoke token" })
    .click();
  await says(page, "Offline");
  await page
    .locator(".dh")
    .getByText(/its token was revoked/)
    .waitFor();
  check(!(await api(page, `/nodes/${name}`)).token_kid, "the node has a token all the same");
}

export const stories = [
  [
    "a node joins through the pages, its new certificate is approved there, and it is switched off and on",
    async ({ page }) => {
      const [name, environment] = [freshName("met"), freshName("place")];
      const there = await agent();
      try {
        await signIn(page);
        await send(page, "PUT", `/environments/${environment}`, { domain: "localhost" });
        const token = await added(page, name, environment, there);
        await details(page, name, there);
        await approves(page, name, token, there);
        await switches(page, name);
      } finally {
        await there.leave();
        await send(page, "DELETE", `/nodes/${name}`).catch(() => undefined);
        await send(page, "DELETE", `/environments/${environment}`).catch(() => undefined);
      }
    },
  ],
  [
    "a node's labels and limits are edited, it is drained and let go, its token is rotated and revoked",
    async ({ page }) => {
      const [name, environment] = [freshName("tuned"), freshName("place")];
      const there = await agent();
      try {
        await signIn(page);
        await send(page, "PUT", `/environments/${environment}`, { domain: "localhost" });
        const node = { name, environment, address: there.address };
        const { token } = await send(page, "POST", "/nodes", node);
        there.start(token);
        await edits(page, name);
        await drains(page, name);
        await rotates(page, name, token, there);
        await revokes(page, name);
      } finally {
        await there.leave();
        await send(page, "DELETE", `/nodes/${name}`).catch(() => undefined);
        await send(page, "DELETE", `/environments/${environment}`).catch(() => undefined);
      }
    },
  ],
];
