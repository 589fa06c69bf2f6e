import { useEffect, useMemo, useRef, useState } from "react";
import type { LogRow } from "./LogLine";
import { type LogHits, searchLines } from "./logScan";

/** The search of a log of which only the end was read: lines are chosen where all of them are. */
export type FarSearch = {
  /** Only lines with this were read; all without. */
  text?: string;
  apply: (text?: string) => void;
};

/** How many lines around a match can be shown. */
export const AROUND = [0, 3, 10, 50];

/** How long typing may pause before lines are chosen elsewhere, in ms. */
const PAUSE = 500;

export type Find = {
  text: string;
  set: (text: string) => void;
  /** Whether lines without it are hidden. */
  only: boolean;
  setOnly: (only: boolean) => void;
  /** How many lines around each match are shown nevertheless. */
  around: number;
  setAround: (around: number) => void;
  /** Whether each line has it; undefined while nothing is looked for. */
  hits?: boolean[];
  /** The lines were chosen elsewhere: none is hidden here. */
  far: boolean;
};

const nothing: LogHits = { text: "", lines: [], hits: [] };

/** What is looked for in a log, and whether only that is shown. */
export function useFind(lines: LogRow[], far?: FarSearch): Find {
  const [text, setText] = useState(far?.text ?? "");
  const [only, setOnly] = useState(far?.text !== undefined);
  const [around, setAround] = useState(0);
  const known = useRef(nothing);
  const hits = useMemo(() => {
    if (text === "") return undefined;
    known.current = searchLines(known.current, lines, text);
    return known.current.hits;
  }, [lines, text]);
  useFarSearch({ far, text, only, setText, setOnly });
  return { text, set: setText, only, setOnly, around, setAround, hits, far: far !== undefined };
}

type FarOptions = Pick<Find, "text" | "only" | "setOnly"> & {
  far?: FarSearch;
  setText: (text: string) => void;
};

/** Has lines chosen elsewhere after a pause in typing, and follows what is chosen by the address. */
function useFarSearch({ far, text, only, setText, setOnly }: FarOptions) {
  const wanted = only ? text.trim() || undefined : undefined;
  const chosen = far?.text;
  const told = useRef(chosen);
  const apply = far?.apply;
  useEffect(() => {
    if (!apply || wanted === told.current) return;
    const timer = setTimeout(() => {
      told.current = wanted;
      apply(wanted);
    }, PAUSE);
    return () => clearTimeout(timer);
  }, [wanted, apply]);
  useEffect(() => {
    if (chosen === told.current) return;
    told.current = chosen;
    setOnly(chosen !== undefined);
    if (chosen !== undefined) setText(chosen);
  }, [chosen]);
}
