// Two people, each with a draft of the same pipeline: who publishes second sees what the first one did, and decides.
import { api, check, freshName, open, picture, same, send, signIn, until } from "./browser.mjs";
import { dropProject, makeProject, node, publish, saved } from "./editor.mjs";

const WORD = "correct-horse-battery-9";
const asks = (key, prompt) => ({ key, needs: [], approval: { prompt } });

/** A second admin, who goes with the story. */
async function colleague(page) {
  const name = freshName("noor");
  await send(page, "PUT", `/users/${name}`, { role: "admin", password: WORD });
  return { name, password: WORD, leave: () => send(page, "DELETE", `/users/${name}`) };
}

const question = (page) => page.getByRole("textbox", { name: "Question" });

/** Another question for a step, as a person writes it who selects the step first. */
async function rewrites(page, project, key, prompt) {
  await page.goto(`/projects/${project}/pipeline?step=${key}`);
  await question(page).fill(prompt);
  await until(`${prompt} is kept`, async () => {
    const { content } = await api(page, `/projects/${project}/draft`).catch(() => ({}));
    return content?.steps.find((step) => step.key === key)?.approval.prompt === prompt;
  });
  await saved(page);
}

const prompts = ({ steps }) =>
  Object.fromEntries(steps.map(({ key, approval }) => [key, approval.prompt]));

/** Both change a step that the other leaves alone, and both change the third. */
async function draw(mine, theirs, project) {
  await rewrites(mine, project, "mine", "Mine, anew?");
  await rewrites(mine, project, "both", "Both, as I see it?");
  await rewrites(theirs, project, "theirs", "Theirs, anew?");
  await rewrites(theirs, project, "both", "Both, as they see it?");
}

/** Who was slower is told by whom and by what; their own drawing is untouched until they decide. */
async function met(page, project, by) {
  const look = page.getByRole("button", { name: "Look at it" });
  await look.waitFor();
  // promise: I-11
  await page.getByText(`${by} published v2 while you drew on v1.`).first().waitFor();
  const draft = async () => prompts((await api(page, `/projects/${project}/draft`)).content);
  // promise: I-11
  same((await draft()).both, "Both, as I see it?", "what is drawn and not decided on");
  await look.click();
  const list = page.getByRole("dialog", { name: "v2 was published while you drew" });
  for (const text of ["Both?", "Both, as I see it?", "Both, as they see it?"])
    await list.getByRole("cell").filter({ hasText: text }).first().waitFor();
  same(await list.getByRole("radio").count(), 2, "choices: one field met, and nothing else did");
  await picture(page, "met");
  await list.getByRole("radio", { name: /^Keep yours for/ }).check();
  await list.getByRole("button", { name: "Put both together" }).click();
  await list.waitFor({ state: "detached" });
}

/** What is published holds what each of them alone changed, and the decision where they met. */
async function together(page, project) {
  await publish(page);
  const { version, pipeline } = await api(page, `/projects/${project}/pipeline`);
  same(version, 3, "the version");
  // promise: I-11
  same(
    prompts(pipeline),
    { mine: "Mine, anew?", theirs: "Theirs, anew?", both: "Both, as I see it?" },
    "what is published in the end",
  );
  const second = await api(page, `/projects/${project}/pipeline/versions/2`);
  // promise: I-11
  same(prompts(second.pipeline).both, "Both, as they see it?", "what the first one published");
}

export const stories = [
  [
    "a second admin publishes first: the other one sees it, decides where both changed, and loses nothing",
    async ({ page, browser }) => {
      const project = freshName("met");
      await signIn(page);
      await makeProject(page, project);
      const steps = [asks("mine", "Mine?"), asks("theirs", "Theirs?"), asks("both", "Both?")];
      await send(page, "PUT", `/projects/${project}/pipeline`, { pipeline: { steps } });
      const they = await colleague(page);
      const other = await open(browser);
      try {
        await signIn(other.page, "/deployments", they);
        await draw(page, other.page, project);
        await publish(other.page);
        check((await api(page, `/projects/${project}`)).pipeline_version === 2, "not published");
        await page.goto(`/projects/${project}/pipeline`);
        await node(page, "both").waitFor({ state: "attached" });
        await met(page, project, they.name);
        await together(page, project);
      } finally {
        await other.context.close();
        await they.leave();
        await dropProject(page, project);
      }
    },
  ],
];
