import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { ApiError } from "@/api/client";
import { type Doc, docOf, emptyDoc, readField } from "../model/document";
import { addStep, commentId, setComment, setField } from "../model/edit";
import type { DraftApi } from "../session/serverDraft";
import { Session } from "../session/session";
import { useSessionState } from "../session/useSession";
import { useSelection } from "./useSelection";

const ask = (x: number) => ({
  key: "ask",
  approval: { prompt: "", timeout_seconds: 60 },
  position: { x, y: 0 },
});

/** A draft that another window has saved since. */
function door(since: Doc, first?: Doc): DraftApi & { saved: () => Doc } {
  let draft = { revision: 2, base: 0, doc: since };
  const before = first ? { revision: 1, base: 0, doc: first } : { revision: 0, base: 0 };
  let asked = 0;
  const none = { version: 0, by: "", doc: emptyDoc };
  const changed = { type: "", title: "", status: 409, code: "draft_changed", request_id: "" };
  return {
    draft: async () => structuredClone(asked++ === 0 ? before : draft),
    save: async (doc, base, revision) => {
      if (revision !== draft.revision) throw new ApiError(409, changed);
      draft = { revision: revision + 1, base, doc: structuredClone(doc) };
      return draft;
    },
    drop: async () => {},
    version: async () => none,
    publish: async () => 1,
    saved: () => docOf(draft.doc),
  };
}

function Inspected({ session, tell }: { session: Session; tell: (step?: string) => void }) {
  const state = useSessionState(session);
  const { step, turn, choose } = useSelection(state, undefined, tell);
  if (!step)
    return (
      <button type="button" onClick={() => choose(new Set(["ask"]), new Set())}>
        ask
      </button>
    );
  return (
    <input
      key={turn}
      value={String(readField(step, "approval.prompt"))}
      onChange={({ target }) =>
        session.change(setField(session.doc, step.key, "approval.prompt", target.value))
      }
    />
  );
}

/** Comments as the canvas draws them: each in a node that goes by its place in the list. */
function Noted({ session }: { session: Session }) {
  const state = useSessionState(session);
  const { chosen, choose } = useSelection(state, undefined, () => {});
  return state.history.now.comments.map((comment, i) => (
    <div key={commentId(i)} className="react-flow__node" data-id={commentId(i)}>
      <textarea
        value={comment.text}
        data-chosen={chosen.has(commentId(i))}
        onFocus={() => choose(new Set([commentId(i)]), new Set())}
        onChange={({ target }) => session.change(setComment(session.doc, i, target.value))}
      />
    </div>
  ));
}

const keep = { left: async () => [], write: () => true, close: () => {} };

afterEach(cleanup);

it("goes on typing in a comment when another window deleted the one before it", async () => {
  const at = (text: string) => ({ text, position: { x: 0, y: 0 } });
  const first = { steps: [], comments: [at("one"), at("two")] };
  const server = door({ steps: [], comments: [at("two")] }, first);
  const session = await Session.open(server, keep, 1_000_000);
  render(<Noted session={session} />);
  const [, second] = screen.getAllByRole("textbox");
  second?.focus();
  if (second) fireEvent.change(second, { target: { value: "two, mine" } });
  await act(() => session.flush());
  const focused = document.activeElement as HTMLTextAreaElement;
  expect(focused.value).toBe("two, mine");
  expect(focused.dataset.chosen).toBe("true");
});

it("goes on typing in one's own step when a merge gives it another name", async () => {
  const server = door(addStep(emptyDoc, ask(1)));
  const session = await Session.open(server, keep, 1_000_000);
  const tell = vi.fn();
  session.change(addStep(session.doc, ask(2)));
  render(<Inspected session={session} tell={tell} />);
  fireEvent.click(screen.getByRole("button"));
  const field = screen.getByRole("textbox");
  field.focus();
  fireEvent.change(field, { target: { value: "min" } });
  await act(() => session.flush());
  expect(document.activeElement).toBe(field);
  fireEvent.change(field, { target: { value: "mine" } });
  await act(() => session.flush());
  const prompts = server.saved().steps.map((step) => [step.key, step.approval?.prompt]);
  expect(Object.fromEntries(prompts)).toEqual({ ask: "", "ask-2": "mine" });
  expect(tell).toHaveBeenLastCalledWith("ask-2");
});
