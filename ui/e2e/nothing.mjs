// Zero faults of axe-core where there is nothing yet: no secret, no template, no team, no service, no run of before.
import { freshName, send, signIn } from "./browser.mjs";
import { dropProject, makeProject } from "./editor.mjs";
import { waiting } from "./life.mjs";
import { fits, looked } from "./looks.mjs";
import { cleanUp } from "./main.mjs";

async function empty(page, path, sign) {
  await page.goto(path);
  await page.locator("h1").first().waitFor();
  await page.locator(sign).first().waitFor();
  await looked(page, `${path} with nothing in it`);
  await fits(page, `${path} with nothing in it`, { axe: true });
}

/** Asked of a part of the API that has nothing to give; the rest of it answers as ever. */
async function without(page, asked, path, sign) {
  const none = (route) => route.fulfill({ json: { items: [] } });
  for (const one of asked) await page.route(one, none);
  await empty(page, path, sign);
  for (const one of asked) await page.unroute(one);
}

/** A deployment that waits for an answer: no service of it runs, and there was no run before. */
async function deployment(page, { id }) {
  for (const [tab, sign] of [
    ["services", ".empty, .pane"],
    ["logs", ".empty, [role=log], .pane"],
    ["metrics", ".empty, .pane"],
    ["terminal", ".empty, button"],
    ["history", ".tbl, .empty, .pane"],
  ])
    await empty(page, `/d/${id}/${tab}`, sign);
}

export const stories = [
  [
    "axe finds nothing where nothing is yet: secrets, templates, access, certificates, tabs, the canvas",
    async ({ page }) => {
      await signIn(page);
      const name = freshName("bare");
      await makeProject(page, name);
      const project = await waiting(page);
      const body = { name, project, environment: "qa", versions: {} };
      const made = await send(page, "POST", "/deployments", body);
      try {
        await empty(page, `/secrets?project=${name}`, ".empty");
        await empty(page, `/templates?project=${name}`, ".empty");
        await empty(page, `/projects/${name}/pipeline`, ".cv, .empty");
        await without(page, ["**/api/v1/teams", "**/api/v1/teams?**"], "/teams/access", "h1");
        const certificates = ["**/api/v1/certificates", "**/api/v1/certificates?**"];
        await without(page, certificates, "/settings/certificates", "h1");
        const removed = ["**/api/v1/deployments?**removed=true**"];
        await without(page, removed, "/deployments?view=removed", ".empty");
        await deployment(page, made);
      } finally {
        await cleanUp(page, made.id);
        await send(page, "DELETE", `/projects/${project}`);
        await dropProject(page, name);
      }
    },
  ],
];
