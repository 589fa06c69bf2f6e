import { type KeyboardEvent, useRef, useState } from "react";
import { Button } from "@/components/Button";
import { scriptTexts as t } from "@/editor/inspector/scriptTexts";
import type { Problem } from "../model/problems";
import { completionsAt, type Known, offsetOf, placeOf } from "../model/scriptCode";

type CodeProps = {
  id: string;
  value: string;
  described?: string;
  problems: Problem[];
  known: Known;
  onChange: (text: string) => void;
};

/** A field for code: numbered lines, those with a problem marked, and names that fit on request. */
export function CodeInput({ id, value, described, problems, known, onChange }: CodeProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const gutter = useRef<HTMLDivElement>(null);
  const [offer, setOffer] = useState<ReturnType<typeof completionsAt>>();
  const places = problems.flatMap((one) => placeOf(one.message) ?? []);
  const wrong = new Set(places.map((place) => place.line));
  const moveTo = (at: number) => {
    field.current?.focus();
    field.current?.setSelectionRange(at, at);
  };
  const replace = (from: number, to: number, text: string) => {
    onChange(value.slice(0, from) + text + value.slice(to));
    setOffer(undefined);
    requestAnimationFrame(() => moveTo(from + text.length));
  };
  const keys = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    const { selectionStart: start, selectionEnd: end } = event.currentTarget;
    const first = offer?.names[0];
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      setOffer(completionsAt(value, start, known));
    } else if (event.key === "Escape" && offer) {
      event.stopPropagation();
      setOffer(undefined);
    } else if (event.key === "Enter" && offer && first) {
      event.preventDefault();
      replace(offer.from, start, first);
    } else if (event.key === "Enter") {
      // The next line begins where this one does.
      event.preventDefault();
      const line = value.slice(value.lastIndexOf("\n", start - 1) + 1, start);
      replace(start, end, `\n${/^\s*/.exec(line)?.[0] ?? ""}${/[{([]$/.test(line) ? "  " : ""}`);
    }
  };
  const [place] = places;
  return (
    <>
      <div className={`code-in ${wrong.size > 0 ? "err" : ""}`}>
        <div className="mono t3 gutter" aria-hidden="true" ref={gutter}>
          {value.split("\n").map((_, i) => (
            <div key={i} className={wrong.has(i + 1) ? "bad" : ""}>
              {i + 1}
            </div>
          ))}
        </div>
        <textarea
          id={id}
          ref={field}
          className="mono"
          rows={16}
          wrap="off"
          value={value}
          spellCheck={false}
          autoComplete="off"
          autoCapitalize="off"
          aria-describedby={described}
          aria-invalid={problems.length > 0 ? true : undefined}
          onScroll={(event) => {
            if (gutter.current) gutter.current.scrollTop = event.currentTarget.scrollTop;
          }}
          onChange={(event) => {
            const { value: text, selectionStart } = event.target;
            onChange(text);
            if (offer) setOffer(completionsAt(text, selectionStart, known));
          }}
          onKeyDown={keys}
        />
      </div>
      {offer ? (
        <div className="row wrap" role="group" aria-label={t.complete}>
          {offer.names.map((name) => (
            <Button
              key={name}
              small
              onClick={() => replace(offer.from, field.current?.selectionStart ?? 0, name)}
            >
              {name}
            </Button>
          ))}
        </div>
      ) : null}
      {place ? (
        <Button
          small
          look="ghost"
          onClick={() => moveTo(offsetOf(value, place.line, place.column))}
        >
          {t.goTo(place.line)}
        </Button>
      ) : null}
    </>
  );
}
