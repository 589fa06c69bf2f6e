// What a person lacks: no page shows an act that is not theirs; one line says which grant is missing and
// who can give it, and asks for it.
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
  user,
} from "./browser.mjs";
import { waiting } from "./life.mjs";
import { cleanUp, create } from "./main.mjs";
import { invite } from "./people.mjs";

/** The line of a page is complete once the API explained it: the grant, and a person by name. */
async function lacks(page, absent, grant) {
  const line = page.locator(".lackline, [role=dialog] .empty").first();
  await line.waitFor();
  // promise: I-01
  await until(
    `${page.url()} says who can give it`,
    async () => {
      const text = await line.innerText();
      return grant.test(text) && text.includes(user) && text.includes("can give it.");
    },
    20_000,
  );
  // promise: U-05
  for (const name of absent)
    for (const role of ["button", "link"])
      same(await page.getByRole(role, { name }).count(), 0, `${name} for a viewer`);
}

const ADMINS = [
  ["/projects", /^New project/],
  ["/environments", /^New environment/],
  ["/services", /^Add service/],
  ["/plugins", /^Add plugin/],
  ["/registries", /^Add registry/],
];

/** Lists, the page of one deployment, the pipeline, and what admins define. */
async function everywhere(page, project, made) {
  await page.goto("/deployments");
  await lacks(page, [/^New deployment/], /needs Full on a project or an environment/);
  await picture(page, "reader-list");
  await page.goto(`/d/${made.id}/run`);
  const full = new RegExp(`full access to project ${project}`);
  await lacks(page, [/^Cancel and undo/, /^Yes, go on/, /^Clone/, /^Hold/, /^Terminal/], full);
  await accessible(page, "a deployment that may only be read");
  await picture(page, "reader-deployment");
  await narrow(page);
  await page.goto(`/templates?project=${project}`);
  await lacks(page, [/^Add template/], full);
  await page.goto(`/deployments/new?project=${project}&env=${made.environment}`);
  await lacks(page, [/^Create deployment/], /needs Full on a project/);
  await page.goto(`/projects/${project}/pipeline`);
  await lacks(page, ["Edit the pipeline"], /the role Admin/);
  for (const [path, name] of ADMINS) {
    await page.goto(path);
    await lacks(page, [name], /the role Admin/);
  }
}

/** On a phone the line is whole, and nothing is wider than the window. */
async function narrow(page) {
  const wide = page.viewportSize();
  await page.setViewportSize({ width: 390, height: 844 });
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  check(over <= 0, `the page of a reader is ${over} px too wide at 390`);
  await picture(page, "reader-deployment-390");
  await page.setViewportSize(wide);
}

/** Asking is one press. The admin reads it, gives what was asked for, and the person hears of it. */
async function asks(page, theirs, project, made, viewer) {
  await theirs.goto(`/d/${made.id}/run`);
  await theirs.getByRole("button", { name: "Ask", exact: true }).click();
  await theirs.getByText("You asked the admins").waitFor();
  await theirs.reload();
  await theirs.getByText("You asked the admins").waitFor();
  same(await theirs.getByRole("button", { name: "Ask", exact: true }).count(), 0, "asking again");
  await page.goto("/notices");
  const requests = page.getByRole("region", { name: "Requests for access" });
  const request = requests.locator("li").filter({ hasText: viewer.name });
  await request.getByText(`${viewer.name} asks for full access to project ${project}`).waitFor();
  await accessible(page, "notices with a request");
  await picture(page, "notices-admin");
  await send(page, "PUT", `/teams/${viewer.name}`, {
    members: [viewer.name],
    grants: [{ project, level: "full" }],
  });
  await request.getByRole("button", { name: `Close the request of ${viewer.name}` }).click();
  await request.waitFor({ state: "detached" });
  await theirs.goto("/notices");
  await theirs
    .getByRole("link", { name: `You have full access to project ${project} now` })
    .waitFor();
  await theirs.goto(`/d/${made.id}/run`);
  await theirs.getByRole("button", { name: /^Cancel and undo/ }).waitFor();
  same(await theirs.locator(".lackline").count(), 0, "the line of who lacks nothing");
}

export const stories = [
  [
    "what a viewer may not do is not there; a line says which grant is missing, and asks for it",
    async ({ page, browser }) => {
      await signIn(page);
      const project = await waiting(page);
      const { viewer, leave } = await invite(page, [project]);
      const theirs = await open(browser);
      let made;
      try {
        made = await create(page, freshName("lack"), project);
        const waits = async () => (await api(page, `/deployments/${made.id}`)).question;
        await until("it waits for an answer", waits, RUN);
        await signIn(theirs.page, "/deployments", viewer);
        await everywhere(theirs.page, project, made);
        await asks(page, theirs.page, project, made, viewer);
      } finally {
        await theirs.context.close();
        if (made) await cleanUp(page, made.id);
        await leave();
        await send(page, "DELETE", `/projects/${project}`);
      }
    },
  ],
];
