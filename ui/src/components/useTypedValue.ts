import { useEffect, useRef, useState } from "react";

/**
 * Local state of a field whose value is stored elsewhere and updates later, such as the URL.
 * Binding the field to the stored value directly would move the caret to the end. `set` stores it.
 */
export function useTypedValue(kept: string, set: (text: string) => void) {
  const [text, setText] = useState(kept);
  /** What was told and did not come back yet. */
  const sent = useRef<string[]>([]);
  useEffect(() => {
    const at = sent.current.indexOf(kept);
    sent.current = sent.current.slice(at + 1);
    // The stored value changed elsewhere: the filters were cleared, or Back was pressed.
    if (at < 0) {
      sent.current = [];
      setText(kept);
    }
  }, [kept]);
  const type = (next: string) => {
    // What cancels out before it came back never comes back, and would be taken for it later on.
    if (next === kept) sent.current = [];
    else sent.current.push(next);
    setText(next);
    set(next);
  };
  return [text, type] as const;
}
