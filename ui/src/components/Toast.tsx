import { X } from "lucide-react";
import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from "react";
import { texts } from "@/texts";
import { StatusMark } from "./Status";

type Message = { id: number; state: string; text: string };
type Say = (state: "done" | "failed", text: string) => void;

const Context = createContext<Say>(() => {});

/** Says the result of an act. Problems with a field are said at the field, never here. */
export function useToast(): Say {
  return useContext(Context);
}

export function Toasts({ children }: { children: ReactNode }) {
  const [messages, setMessages] = useState<Message[]>([]);
  const drop = useCallback(
    (id: number) => setMessages((all) => all.filter((one) => one.id !== id)),
    [],
  );
  const say = useCallback<Say>(
    (state, text) => {
      const id = Date.now() + Math.random();
      setMessages((all) => [...all.slice(-2), { id, state, text }]);
      // A failure stays until it is read; a result goes by itself.
      if (state === "done") setTimeout(() => drop(id), 6000);
    },
    [drop],
  );
  const list = useMemo(
    () =>
      messages.map((message) => (
        <div key={message.id} className="toast">
          <StatusMark state={message.state}>
            <span className="vh">{texts.states[message.state as "done"]}</span>
          </StatusMark>
          <span className="grow">{message.text}</span>
          <button
            type="button"
            className="btn ghost sm ic"
            aria-label={texts.close}
            onClick={() => drop(message.id)}
          >
            <X className="i sm" aria-hidden="true" />
          </button>
        </div>
      )),
    [messages, drop],
  );
  return (
    <Context value={say}>
      {children}
      <section className="toasts" aria-live="polite" aria-label={texts.results}>
        {list}
      </section>
    </Context>
  );
}
