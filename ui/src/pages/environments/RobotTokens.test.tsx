import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { client } from "@/api/client";
import { Toasts } from "@/components/Toast";
import { environmentTexts } from "@/pages/environments/environmentTexts";
import { RobotTokens } from "./RobotTokens";

const t = environmentTexts.robots;

const nightly = {
  id: "019a9f3c-5a57-7e21-9d4c-0b8f3f4d2a11",
  kind: "robot",
  label: "Nightly tests",
  created_by: "ada",
  created_at: "2026-11-22T07:00:00Z",
  expires_at: "2026-12-22T07:00:00Z",
};

let items: (typeof nightly)[];
const dirty = vi.fn();

beforeEach(() => {
  items = [];
  vi.spyOn(client, "GET").mockImplementation((async () => ({
    data: { items },
    response: new Response(),
  })) as never);
});

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
  dirty.mockReset();
});

async function show() {
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Toasts>
        <RobotTokens name="qa" dirty={dirty} />
      </Toasts>
    </QueryClientProvider>,
  );
  await userEvent.click(screen.getByText(t.title));
}

const makes = () => userEvent.click(screen.getByRole("button", { name: t.make }));

it("makes a token, shows it this once, and lists it", async () => {
  const post = vi.spyOn(client, "POST").mockImplementation((async () => {
    items = [nightly];
    return { data: { token: "nogr_secret", pass: nightly }, response: new Response() };
  }) as never);
  await show();
  await screen.findByText(t.none);
  const days = screen.getByLabelText(t.days);
  await userEvent.type(screen.getByLabelText(t.label), "Nightly tests");
  expect(dirty).toHaveBeenLastCalledWith(true);
  await userEvent.clear(days);
  await userEvent.type(days, "366");
  await makes();
  expect(screen.getAllByText(t.daysWrong).length).toBeGreaterThan(0);
  expect(post).not.toHaveBeenCalled();
  await userEvent.clear(days);
  await userEvent.type(days, "2");
  await makes();
  await screen.findByText("nogr_secret");
  await screen.findByText("Nightly tests");
  expect(post.mock.lastCall?.[1]).toMatchObject({ body: { label: "Nightly tests", hours: 48 } });
  expect(dirty).toHaveBeenLastCalledWith(false);
});

it("asks again for the same one when nobody answered", async () => {
  const post = vi.spyOn(client, "POST").mockRejectedValue(new TypeError("nothing answers"));
  await show();
  await userEvent.type(screen.getByLabelText(t.label), "Nightly tests");
  await makes();
  await screen.findByRole("alert");
  await makes();
  await waitFor(() => expect(post).toHaveBeenCalledTimes(2));
  const keys = post.mock.calls.map(
    (call) => (call[1] as { params: { header: object } }).params.header,
  );
  expect(keys[0]).toEqual(keys[1]);
});

it("withdraws one only after a question", async () => {
  items = [nightly];
  const remove = vi
    .spyOn(client, "DELETE")
    .mockResolvedValue({ response: new Response() } as never);
  await show();
  await userEvent.click(
    await screen.findByRole("button", { name: t.withdrawAct("Nightly tests") }),
  );
  expect(remove).not.toHaveBeenCalled();
  const asks = screen.getByRole("dialog");
  await userEvent.click(within(asks).getByRole("button", { name: t.withdraw }));
  await waitFor(() =>
    expect(remove.mock.lastCall?.[1]).toMatchObject({
      params: { path: { name: "qa", pass: nightly.id } },
    }),
  );
});
