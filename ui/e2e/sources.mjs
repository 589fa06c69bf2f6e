// An admin has a repository define a service: sees what it changes, applies it, and what drifts.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { accessible, api, check, freshName, picture, same, send, signIn } from "./browser.mjs";

/** Both widths of what is on the screen, dark as well, and nothing that runs out of the narrow one. */
export async function pictures(page, name) {
  await accessible(page, name);
  await picture(page, name);
  await page.setViewportSize({ width: 390, height: 844 });
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  check(over <= 0, `${name} is ${over} px too wide at 390`);
  await picture(page, `${name}-390`);
  await page.emulateMedia({ colorScheme: "dark" });
  await page.setViewportSize({ width: 1440, height: 900 });
  await picture(page, `${name}-dark`);
  await page.emulateMedia({ colorScheme: "light" });
}

/** A repository, served over HTTP by git itself. */
async function repository() {
  const root = mkdtempSync(join(tmpdir(), "nullops-sources-"));
  const work = join(root, "work");
  const env = {
    PATH: process.env.PATH,
    HOME: root,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_AUTHOR_NAME: "Ada",
    GIT_AUTHOR_EMAIL: "ada@example.org",
    GIT_COMMITTER_NAME: "Ada",
    GIT_COMMITTER_EMAIL: "ada@example.org",
  };
  const git = (cwd, ...args) => {
    const { status, stdout, stderr } = spawnSync("git", args, { cwd, env, encoding: "utf8" });
    same(status, 0, `git ${args[0]}: ${stderr}`);
    return stdout.trim();
  };
  git(root, "init", "--quiet", "--bare", "--initial-branch=main", "definitions.git");
  git(root, "init", "--quiet", "--initial-branch=main", work);
  const server = createServer((request, response) => {
    const { pathname, search } = new URL(request.url, "http://localhost");
    const cgi = spawn("git", ["http-backend"], {
      env: {
        ...env,
        GIT_PROJECT_ROOT: root,
        GIT_HTTP_EXPORT_ALL: "1",
        GIT_PROTOCOL: request.headers["git-protocol"] ?? "",
        PATH_INFO: pathname,
        QUERY_STRING: search.slice(1),
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: request.headers["content-type"] ?? "",
        CONTENT_LENGTH: request.headers["content-length"] ?? "",
        HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
      },
    });
    request.pipe(cgi.stdin);
    const said = [];
    cgi.stdout.on("data", (piece) => said.push(piece));
    cgi.on("close", () => {
      const all = Buffer.concat(said);
      const end = all.indexOf("\r\n\r\n");
      let status = 200;
      for (const line of all.subarray(0, end).toString().split("\r\n")) {
        const [name, value] = line.split(": ");
        if (name === "Status") status = Number.parseInt(value, 10);
        else response.setHeader(name, value);
      }
      response.writeHead(status).end(all.subarray(end + 4));
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${server.address().port}/definitions.git`,
    /** Commits one file and pushes it. */
    push(file, text, subject) {
      writeFileSync(join(work, file), text);
      git(work, "add", file);
      git(work, "commit", "--quiet", "-m", subject);
      git(work, "push", "--quiet", join(root, "definitions.git"), "main");
      return git(work, "rev-parse", "HEAD").slice(0, 7);
    },
    close() {
      server.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

const document = (name, description) => `kind: service
name: ${name}
description: ${description}
registry: local
image: shop/api
tag_mode: selectable
`;

async function adds(page, source, url) {
  await page.goto("/sources");
  await page.getByRole("button", { name: "Add source" }).first().click();
  const sheet = page.getByRole("dialog");
  await sheet.getByLabel("Name", { exact: true }).fill(source);
  await sheet.getByLabel("Repository").fill(url);
  await pictures(page, "sources-add");
  await sheet.getByRole("button", { name: "Create" }).click();
  await sheet.waitFor({ state: "detached" });
  await page.getByRole("row", { name: new RegExp(source) }).waitFor();
}

/** The sheet of the source, looked at anew. */
async function looks(page, source) {
  await page.goto(`/sources?open=${source}`);
  const sheet = page.getByRole("dialog", { name: source });
  await sheet.getByRole("button", { name: "Look now" }).click();
  return sheet;
}

export const stories = [
  [
    "a repository defines a service, and what drifts and what is wrong is shown",
    async ({ page }) => {
      await signIn(page);
      const [source, service] = [freshName("platform"), freshName("defined")];
      const repo = await repository();
      try {
        const first = repo.push("api.yaml", document(service, "From git"), "Define the service");
        await adds(page, source, repo.url);
        let sheet = await looks(page, source);
        const apply = sheet.getByRole("button", { name: `Apply ${first}` });
        await apply.waitFor();
        await sheet.getByText(service).first().waitFor();
        await pictures(page, "sources-waiting");
        await apply.click();
        await sheet.getByText("In step").waitFor();
        same((await api(page, `/services/${service}`)).description, "From git", "what is stored");

        const { description, ...rest } = await api(page, `/services/${service}`);
        const { registry, image, tag_mode, tag } = rest;
        const changed = { registry, image, tag_mode, tag, description: `${description}, by hand` };
        await send(page, "PUT", `/services/${service}`, changed);
        sheet = await looks(page, source);
        await sheet.getByRole("heading", { name: "Drift" }).waitFor();
        await pictures(page, "sources-drift");
        await sheet.getByRole("button", { name: "Apply again" }).click();
        await sheet.getByRole("heading", { name: "Drift" }).waitFor({ state: "detached" });
        same((await api(page, `/services/${service}`)).description, "From git", "applied again");
        await page.goto(`/services?open=${service}`);
        await page.getByText(`Defined in ${source} at commit ${first}`).waitFor();
        await pictures(page, "sources-origin");

        repo.push("api.yaml", `${document(service, "Wrong")}tag_mod: pinned\n`, "Break it");
        sheet = await looks(page, source);
        await sheet.getByText("api.yaml:7").waitFor();
        await pictures(page, "sources-failed");
        same((await api(page, `/services/${service}`)).description, "From git", "nothing changed");
        await page.goto("/sources");
        await page
          .getByRole("row", { name: new RegExp(source) })
          .getByText("Failed")
          .waitFor();
        await pictures(page, "sources");
      } finally {
        repo.close();
        await send(page, "DELETE", `/sources/${source}`);
        await send(page, "DELETE", `/services/${service}`);
      }
    },
  ],
];
