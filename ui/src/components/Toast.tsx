import { X } from "lucide-react";
import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from "react";
import { texts } from "@/texts";
import { StatusMark } from "./Status";

/** What can be done about a result, right where it is said: to see it, or to take it back. */
type Then = { label: string; run: () => void };
type Message = { id: number; state: string; text: string; then?: Then; at: number };
type Say = (state: "done" | "failed", text: string, then?: Then) => void;

const Context = createContext<Say>(() => {});
const Solved = createContext<(age?: number) => void>(() => {});
/** How long a result stays; with something to press, long enough to reach it. */
const STAYS = 6000;
const STAYS_LONGER = 12_000;

/**
 * Says the result of an act. Problems with a field are said at the field, never here.
 */
export function useToast(): Say {
  return useContext(Context);
}

/** Takes away failures of the past: what they spoke of has been done another way, or was left. */
export function useSolved(): (age?: number) => void {
  return useContext(Solved);
}

/** Of one act, some may have worked and some not: what is as new as a result is not overcome by it. */
const SAME_ACT = 1000;

/** Whether a failure is of the past once something has worked. */
function isOvercome({ state, at }: Message, now: number, age = SAME_ACT): boolean {
  return state === "failed" && now - at > age;
}

const withoutOvercome = (all: Message[], age?: number) => {
  const now = Date.now();
  const left = all.filter((one) => !isOvercome(one, now, age));
  return left.length === all.length ? all : left;
};

export function Toasts({ children }: { children: ReactNode }) {
  const [messages, setMessages] = useState<Message[]>([]);
  const drop = useCallback(
    (id: number) => setMessages((all) => all.filter((one) => one.id !== id)),
    [],
  );
  const say = useCallback<Say>(
    (state, text, then) => {
      const id = Date.now() + Math.random();
      const now = Date.now();
      setMessages((all) => [
        ...(state === "done" ? withoutOvercome(all) : all).slice(-2),
        { id, state, text, then, at: now },
      ]);
      // A failure stays until it is read, or until something worked; a result goes by itself.
      if (state === "done") setTimeout(() => drop(id), then ? STAYS_LONGER : STAYS);
    },
    [drop],
  );
  const solved = useCallback((age?: number) => setMessages((all) => withoutOvercome(all, age)), []);
  const list = useMemo(
    () => messages.map((one) => <Toast key={one.id} message={one} drop={() => drop(one.id)} />),
    [messages, drop],
  );
  return (
    <Context value={say}>
      <Solved value={solved}>{children}</Solved>
      <section className="toasts" aria-live="polite" aria-label={texts.results}>
        {list}
      </section>
    </Context>
  );
}

function Toast({ message, drop }: { message: Message; drop: () => void }) {
  const { state, text, then } = message;
  const press = () => {
    drop();
    then?.run();
  };
  return (
    <div className="toast">
      <StatusMark state={state}>
        <span className="vh">{texts.states[state as "done"]}</span>
      </StatusMark>
      <span className="grow">{text}</span>
      {then ? (
        <button type="button" className="link nw" onClick={press}>
          {then.label}
        </button>
      ) : null}
      <button
        type="button"
        className="btn ghost sm ic"
        aria-label={texts.close}
        title={texts.close}
        onClick={drop}
      >
        <X className="i sm" aria-hidden="true" />
      </button>
    </div>
  );
}
