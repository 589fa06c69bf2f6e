import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, configure, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { client, type Me } from "@/api/client";
import { pipelineVersion } from "@/api/queries/catalog";
import { me } from "@/api/queries/common";
import { Toasts } from "@/components/Toast";
import { deployment } from "../components/examples";
import { ReadyActs } from "./ReadyActs";
import { whyNot } from "./whyNot";

configure({ asyncUtilTimeout: 30_000 });

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const made = deployment("ready", { node: "fra-01" });
const person = (role: Me["role"]) => ({ name: "ann", role }) as Me;

/** Its pipeline has one volume, which may be bound to its node. */
function show(role: Me["role"], stays: boolean, answer: object = made) {
  const cache = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  cache.setQueryData(me.queryKey, person(role));
  const [{ step } = { step: "" }] = made.services;
  const drawn = { steps: [{ key: step, service: { volumes: [{ name: "data", stays }] } }] };
  const { queryKey } = pipelineVersion(made.project, made.pipeline_version);
  cache.setQueryData(queryKey, { pipeline: drawn } as never);
  const items = [{ name: "fra-01" }, { name: "fra-02" }];
  vi.spyOn(client, "GET").mockResolvedValue({ data: { items }, response: new Response() } as never);
  const told = { data: answer, response: new Response() };
  const post = vi.spyOn(client, "POST").mockResolvedValue(told as never);
  render(
    <QueryClientProvider client={cache}>
      <Toasts>
        <ReadyActs deployment={made} why={(act) => whyNot(act, made, person(role))} />
      </Toasts>
    </QueryClientProvider>,
  );
  return post;
}

const asks = async (name: string) => {
  await userEvent.click(screen.getByRole("button", { name }));
  return within(await screen.findByRole("dialog"));
};
type Sent = [string, { body?: unknown }?][];
const sent = (post: ReturnType<typeof show>) =>
  (post.mock.calls as unknown as Sent).map(([, init]) => init?.body);

it("an admin chooses the node, and what is in the volumes goes along", async () => {
  const post = show("admin", false);
  const question = await asks("Move to another node");
  question.getByText(/what is in 1 volume \(web\/data\) is copied.*fra-01 is cleared/);
  await waitFor(() => expect(question.getAllByRole("option")).toHaveLength(2));
  await userEvent.selectOptions(question.getByLabelText("Node"), "fra-02");
  await userEvent.click(question.getByRole("button", { name: "Move it" }));
  await waitFor(() => expect(sent(post)).toEqual([{ node: "fra-02", drop_volumes: false }]));
});

it("what is bound to its node goes only without what is in its volumes, which is said", async () => {
  const post = show("user", true);
  const question = await asks("Move to another node");
  expect(question.queryByLabelText("Node")).toBeNull();
  const yes = question.getByRole("button", { name: "Move it" });
  expect(yes.title).toMatch(/web\/data stays on the node/);
  await userEvent.click(question.getByLabelText("Begin with empty volumes"));
  question.getByText(/What is in 1 volume is erased: web\/data\./);
  await userEvent.click(yes);
  await waitFor(() => expect(sent(post)).toEqual([{ drop_volumes: true }]));
});

it("a check says of each step whether it is there, and of what is not, why", async () => {
  const steps = [
    { step: "seed", ok: true, seconds: 0.4 },
    { step: "user", ok: false, seconds: 1, message: "no user shop", log: ["asked"] },
  ];
  const post = show("user", false, { ok: false, steps });
  const dialog = await asks("Check what it made");
  await dialog.findByText("1 step differs from what was made.");
  expect(dialog.getByRole("region", { name: "seed" }).textContent).toContain("There");
  const user = dialog.getByRole("region", { name: "user" }).textContent;
  for (const part of ["Differs", "no user shop", "asked"]) expect(user).toContain(part);
  expect(post).toHaveBeenCalledOnce();
});
