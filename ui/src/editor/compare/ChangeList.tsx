import { sayField } from "@/components/fieldTexts";
import { changeTexts } from "@/editor/compare/changeTexts";
import { editorTexts } from "@/editor/editorTexts";
import type { StepChange } from "../model/merge";
import { isEmptyDiff, type LayoutDiff } from "./layoutDiff";
import "./compare.css";
import { ChangeBadge } from "./ChangeBadge";
import { ValueDiff } from "./FieldValues";

const t = editorTexts.panel;

type Props = {
  changes: StepChange[];
  /** Comments and places that differ too. */
  asides?: LayoutDiff;
  onShow?: (step: string) => void;
};

/** What differs between two drawings, step by step and field by field. */
export function ChangeList({ changes, asides, onShow }: Props) {
  return (
    <>
      {changes.map((one) => (
        <div key={one.key} className="chg">
          <ChangeBadge mark={one.kind} />{" "}
          {onShow && one.kind !== "removed" ? (
            <button type="button" className="link" onClick={() => onShow(one.key)}>
              {one.key}
            </button>
          ) : (
            <b>{one.key}</b>
          )}{" "}
          <span className="chip" data-mark={one.kind}>
            {t[one.kind]}
          </span>
          <Fields fields={one.fields} />
        </div>
      ))}
      {asides && (changes.length === 0 || !isEmptyDiff(asides)) ? (
        <p className="chg t2">{asidesText(asides, changes.length === 0)}</p>
      ) : null}
    </>
  );
}

function asidesText(asides: LayoutDiff, alone: boolean): string {
  if (isEmptyDiff(asides)) return t.same;
  const what = changeTexts.asides(asides);
  return alone ? changeTexts.onlyAsides(what) : changeTexts.alsoAsides(what);
}

function Fields({ fields }: { fields: StepChange["fields"] }) {
  return (
    <ul>
      {fields.map((field) => (
        <li key={field.path}>
          <span className="t2">{sayField(field.path)}</span>
          <ValueDiff old={field.old} now={field.now} />
        </li>
      ))}
    </ul>
  );
}
