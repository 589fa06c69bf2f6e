// What a person lacks: each act that is not theirs says which grant is missing, and who can give it.
import { api, freshName, open, RUN, same, send, signIn, until, user } from "./browser.mjs";
import { waiting } from "./life.mjs";
import { cleanUp, create } from "./main.mjs";
import { invite } from "./people.mjs";

/** The reason of a control is complete once the API explained it: the grant, and a person by name. */
async function lacks(page, role, name, grant) {
  const control = page.getByRole(role, { name }).first();
  await control.waitFor();
  const said = () => control.getAttribute("title");
  // promise: I-01
  await until(
    `${name} says who can give it`,
    async () => {
      const text = (await said()) ?? "";
      return grant.test(text) && text.includes(user) && text.includes("can give it.");
    },
    20_000,
  );
  // promise: I-01
  same(await control.getAttribute("aria-disabled"), "true", `${name} for a viewer`);
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
  await lacks(page, "button", /^New deployment/, /needs Full on a project or an environment/);
  await page.goto(`/d/${made.id}/run`);
  for (const name of [/^Cancel and undo/, /^Yes, go on/])
    await lacks(
      page,
      "button",
      name,
      new RegExp(`full access to project ${project} or environment`),
    );
  await page.goto(`/templates?project=${project}`);
  await lacks(page, "button", /^Add template/, new RegExp(`full access to project ${project}`));
  await page.goto(`/deployments/new?project=${project}&env=${made.environment}`);
  await lacks(page, "button", /^Create deployment/, new RegExp(`Full on project ${project} or on`));
  await page.goto(`/projects/${project}/pipeline`);
  await lacks(page, "button", "Edit the pipeline", /the role Admin/);
  for (const [path, name] of ADMINS) {
    await page.goto(path);
    await lacks(page, "button", name, /the role Admin/);
  }
}

export const stories = [
  [
    "what a viewer may not do says on each page which grant is missing and who can give it",
    async ({ page, browser }) => {
      await signIn(page);
      const project = await waiting(page);
      const { viewer, leave } = await invite(page, [project]);
      const theirs = await open(browser);
      let made;
      try {
        made = await create(page, freshName("lack"), project);
        const asks = async () => (await api(page, `/deployments/${made.id}`)).question;
        await until("it waits for an answer", asks, RUN);
        await signIn(theirs.page, "/deployments", viewer);
        await everywhere(theirs.page, project, made);
      } finally {
        await theirs.context.close();
        if (made) await cleanUp(page, made.id);
        await leave();
        await send(page, "DELETE", `/projects/${project}`);
      }
    },
  ],
];
