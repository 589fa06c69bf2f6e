import "./compare.css";
import { useState } from "react";
import { BidiSafe } from "@/components/BidiSafe";
import { Button } from "@/components/Button";
import { mergeTexts, valueTexts } from "@/editor/compare/mergeTexts";
import { diffLines, findHunks } from "./lineDiff";

const t = valueTexts;

/** How much of a value, and how many changed lines, show before "show all". */
const LETTERS = 400;
const LINES = 14;

/** A field's value in a comparison: as it is written, and safely. */
export function FieldValue({ value }: { value: unknown }) {
  const [whole, setWhole] = useState(false);
  if (value === undefined) return <span className="t3">{mergeTexts.absent}</span>;
  const text = textOf(value);
  const short = text.slice(0, LETTERS).split("\n").slice(0, LINES).join("\n");
  const cut = !whole && short !== text;
  return (
    <span className="mono vl">
      <BidiSafe text={cut ? `${short}…` : text} />
      {cut ? <Rest label={t.letters(text.length)} onShow={() => setWhole(true)} /> : null}
    </span>
  );
}

/** What a value was, and what it is: of two texts of several lines, the lines that differ. */
export function ValueDiff({ old, now }: { old: unknown; now: unknown }) {
  const [was, is] = [old, now].map((value) => (value === undefined ? "" : textOf(value)));
  if (was?.includes("\n") && is?.includes("\n")) return <Lines old={was} now={is} />;
  return (
    <>
      <del>
        <FieldValue value={old} />
      </del>
      <span aria-hidden="true">→</span>
      <ins>
        <FieldValue value={now} />
      </ins>
    </>
  );
}

/** A side of a decision, told against what was before. */
export function MergeSide({ base, value }: { base: unknown; value: unknown }) {
  const [was, is] = [base, value].map((one) => (one === undefined ? "" : textOf(one)));
  if (was?.includes("\n") && is?.includes("\n") && was !== is) return <Lines old={was} now={is} />;
  return <FieldValue value={value} />;
}

function Lines({ old, now }: { old: string; now: string }) {
  const [whole, setWhole] = useState(false);
  const all = findHunks(diffLines(old, now));
  const cut = !whole && all.length > LINES;
  return (
    <span className="mono lns">
      {(cut ? all.slice(0, LINES) : all).map((line, i) => (
        <span key={i} data-sign={line?.sign}>
          {line ? (
            <>
              <span className="vh">{line.sign === " " ? "" : t.signs[line.sign]}</span>
              <span aria-hidden="true">{line.sign}</span> <BidiSafe text={line.text} />
            </>
          ) : (
            "…"
          )}
        </span>
      ))}
      {cut ? <Rest label={t.lines(all.length)} onShow={() => setWhole(true)} /> : null}
    </span>
  );
}

function Rest({ label, onShow }: { label: string; onShow: () => void }) {
  return (
    <Button small look="ghost" onClick={onShow}>
      {label}
    </Button>
  );
}

/**
 * Texts are as they are, and so is what a file holds, whose path its field is called by. What else
 * has parts is written as JSON, a part a line where it is long.
 */
function textOf(value: unknown): string {
  const text = (value as { content?: unknown } | null)?.content ?? value;
  if (typeof text === "string") return text;
  const line = JSON.stringify(value) ?? "";
  return line.length > 80 ? JSON.stringify(value, null, 2) : line;
}
