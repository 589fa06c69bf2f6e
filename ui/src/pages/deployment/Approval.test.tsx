import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, configure, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it, vi } from "vitest";
import { client, type Deployment, type Question, type Step } from "@/api/client";
import { listPageActions } from "@/components/pageActions";
import { Approval, filledValues } from "./Approval";
import { edgeState } from "./Graph";
import { StepNode } from "./StepNode";

// What a machine under load needs; nothing here is about time.
configure({ asyncUtilTimeout: 30_000 });

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const question = (more: Partial<Question> = {}): Question => ({
  run: 2,
  step: "ask",
  prompt: "Is the test data loaded?",
  asked_at: "2026-11-21T12:00:00Z",
  deadline: "2026-11-21T15:30:00Z",
  fields: [
    { name: "rows", label: "How many rows", type: "number", required: true },
    { name: "sure", type: "boolean" },
  ],
  teams: ["qa"],
  users: [],
  may_answer: true,
  ...more,
});

function show(more: Partial<Question> = {}) {
  const deployment = {
    id: "d1",
    name: "cart",
    node: "alpha",
    status: "applying",
    question: question(more),
  } as Deployment;
  return render(
    <QueryClientProvider client={new QueryClient()}>
      <Approval deployment={deployment} />
    </QueryClientProvider>,
  );
}

type Answered = Awaited<ReturnType<typeof client.POST>>;

function answer(status: number, body: object) {
  const response = new Response(null, { status });
  const told = status < 400 ? { data: body, response } : { error: body, response };
  return vi.spyOn(client, "POST").mockResolvedValue(told as Answered);
}

describe("the question of a run", () => {
  it("says what is asked, of whom, and until when", () => {
    show();
    // promise: B-35
    expect(screen.getByText("Is the test data loaded?")).toBeTruthy();
    expect(screen.getByText(/waits for anyone of qa\. It fails if nobody answers by/)).toBeTruthy();
  });

  it("can be answered from the palette, or says there why not", () => {
    const acts = ["Question of ask: Yes, go on", "Question of ask: No, undo"];
    show();
    expect(listPageActions().map((one) => one.label)).toEqual(acts);
    cleanup();
    show({ may_answer: false, refusal: "Only qa can answer." });
    expect(listPageActions().map((one) => one.reason)).toEqual(
      acts.map(() => "Only qa can answer."),
    );
  });

  it("is answered with the keyboard alone", async () => {
    const post = answer(200, { id: "d1" });
    show();
    await userEvent.tab();
    await userEvent.keyboard("7");
    await userEvent.tab();
    await userEvent.keyboard(" ");
    await userEvent.tab();
    await userEvent.keyboard("{Enter}");
    await waitFor(() => expect(post).toHaveBeenCalledOnce());
    expect(post.mock.calls[0]?.[1]).toMatchObject({
      params: { path: { id: "d1", run: 2, step: "ask" } },
      body: { approved: true, fields: { rows: 7, sure: true } },
    });
  });

  it("asks again before everything is undone", async () => {
    const post = answer(200, { id: "d1" });
    show();
    await userEvent.click(screen.getByRole("button", { name: "No, undo" }));
    expect(post).not.toHaveBeenCalled();
    const dialog = await screen.findByRole("dialog");
    const yes = [...dialog.querySelectorAll("button")].find(
      (one) => one.textContent === "No, undo",
    );
    await userEvent.click(yes as HTMLButtonElement);
    await waitFor(() => expect(post).toHaveBeenCalledOnce());
    expect(post.mock.calls[0]?.[1]).toMatchObject({ body: { approved: false } });
  });

  it("shows a refusal at its field", async () => {
    answer(400, {
      title: "Bad Request",
      problems: [{ field: "fields.rows", code: "required", message: "fill in How many rows" }],
    });
    show();
    await userEvent.click(screen.getByRole("button", { name: "Yes, go on" }));
    expect(await screen.findByText("fill in How many rows")).toBeTruthy();
    expect(screen.getByLabelText("How many rows").getAttribute("aria-invalid")).toBe("true");
  });

  it("can be read by who may not answer it, with the reason", async () => {
    const post = answer(200, {});
    show({ may_answer: false, refusal: "you may not answer this. Ask a member of team qa." });
    const yes = screen.getByRole("button", { name: "Yes, go on" });
    expect(yes.getAttribute("aria-disabled")).toBe("true");
    expect(screen.getByText(/Ask a member of team qa/)).toBeTruthy();
    await userEvent.click(yes);
    expect(post).not.toHaveBeenCalled();
  });

  it("says whose answer is on its way", () => {
    show({
      may_answer: false,
      answered_by: "ada",
      approved: true,
      answered_at: question().asked_at,
    });
    expect(
      screen.getByText(/ada approved it at .*; alpha has not received the answer yet/),
    ).toBeTruthy();
    expect(screen.queryByRole("button")).toBeNull();
  });

  it("sends values as they are typed, and leaves out what is empty", () => {
    const fields: Question["fields"] = [
      { name: "a", type: "number" },
      { name: "b", type: "number" },
      { name: "c", type: "string" },
      { name: "d", type: "boolean" },
      { name: "e", type: "choice", choices: ["x"] },
    ];
    expect(filledValues(fields, { a: " 7.5 ", b: "", c: "", d: false, e: "x" })).toEqual({
      a: 7.5,
      d: false,
      e: "x",
    });
    expect(filledValues(fields, { a: "seven" })).toMatchObject({ a: "seven" });
  });
});

it("an approval that waits is drawn with its state in words", () => {
  const step: Step = {
    run: 1,
    key: "ask",
    position: 2,
    kind: "approval",
    title: "approval",
    needs: [],
    status: "waiting",
    lines: 0,
  };
  const { container } = render(<StepNode step={step} selected={false} onSelect={() => {}} />);
  expect(screen.getByRole("button", { name: /ask.*Waiting for an answer/ })).toBeTruthy();
  expect(container.querySelector('[data-st="approval"] svg')).toBeTruthy();
  expect(edgeState({ ...step, status: "done" }, step)).toBe("running");
});
