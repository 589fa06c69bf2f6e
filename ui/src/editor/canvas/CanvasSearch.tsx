import { ChevronDown, ChevronUp, Search, X } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { Button } from "@/components/Button";
import { editorTexts } from "@/editor/editorTexts";
import { orderOf } from "../model/catalogue";
import type { Doc } from "../model/document";
import { findSteps } from "../model/findSteps";
import { focusNode } from "./useKeyboardNavigation";

const t = editorTexts.search;

type Props = { doc: Doc; onShow: (key: string) => void; onClose: () => void };

/** Finds steps by what is written in them, and leads from one to the next. */
export default function CanvasSearch({ doc, onShow, onClose }: Props) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(-1);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const found = useMemo(() => {
    const matches = new Set(findSteps(doc, text));
    return orderOf(doc).filter((key) => matches.has(key));
  }, [doc, text]);
  const go = (by: 1 | -1) => {
    if (found.length === 0) return;
    const next = (Math.max(at, by > 0 ? -1 : 0) + by + found.length) % found.length;
    setAt(next);
    onShow(found[next] as string);
  };
  const close = () => {
    onClose();
    const last = found[at];
    if (last) focusNode(last);
  };
  return (
    <search className="cvsearch menu" aria-label={t.label}>
      <Search className="i sm t3" aria-hidden="true" />
      <input
        ref={field}
        aria-label={t.label}
        placeholder={t.label}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(-1);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
          if (event.key === "Escape") close();
        }}
      />
      <span className="s t2 nw" role="status">
        {text ? t.count(at + 1, found.length) : ""}
      </span>
      <Button look="ghost" small icon aria-label={t.previous} onClick={() => go(-1)}>
        <ChevronUp className="i sm" aria-hidden="true" />
      </Button>
      <Button look="ghost" small icon aria-label={t.next} onClick={() => go(1)}>
        <ChevronDown className="i sm" aria-hidden="true" />
      </Button>
      <Button look="ghost" small icon aria-label={t.close} onClick={close}>
        <X className="i sm" aria-hidden="true" />
      </Button>
    </search>
  );
}
