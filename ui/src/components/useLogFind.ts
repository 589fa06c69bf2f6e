import { useMemo, useState } from "react";
import { plainText } from "./ansi";
import type { LogRow } from "./LogLine";

export type Find = {
  text: string;
  set: (text: string) => void;
  step: (by: number) => void;
  line?: number;
  at: number;
  count: number;
};

export function useFind(lines: LogRow[]): Find {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const hits = useMemo(() => {
    const wanted = text.toLowerCase();
    if (!wanted) return [];
    return lines.flatMap((line, i) =>
      plainText(line.text).toLowerCase().includes(wanted) ? [i] : [],
    );
  }, [lines, text]);
  const place = Math.min(at, Math.max(0, hits.length - 1));
  return {
    text,
    set: (next) => {
      setText(next);
      setAt(0);
    },
    step: (by) => setAt(hits.length === 0 ? 0 : (place + by + hits.length) % hits.length),
    line: hits[place],
    at: place + 1,
    count: hits.length,
  };
}
