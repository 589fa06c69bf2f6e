import { useMemo, useState } from "react";
import { Button } from "@/components/Button";
import { sayField } from "@/components/fieldTexts";
import { Sheet } from "@/components/Overlay";
import { mergeTexts } from "@/editor/compare/mergeTexts";
import { editorTexts } from "@/editor/editorTexts";
import type { Doc } from "../model/document";
import { type Choices, type Conflict, conflictId, type StepChange, threeWay } from "../model/merge";
import type { DraftConflict } from "../session/conflict";
import { ChangeList } from "./ChangeList";
import { FieldValue, MergeSide } from "./FieldValues";

const t = mergeTexts;

/** Three drawings side by side: what was, what you made of it, what they made of it. */
export function MergeSheet(props: {
  clash: DraftConflict;
  doc: Doc;
  onClose: () => void;
  onResolve: (choices: Choices) => void;
}) {
  const { clash, doc, onClose, onResolve } = props;
  const merged = useMemo(() => threeWay(clash.base, doc, clash.theirs), [clash, doc]);
  const [choices, setChoices] = useState<Choices>({});
  const open = merged.conflicts.filter((one) => !choices[conflictId(one)]).length;
  const title = clash.kind === "published" ? t.outdatedTitle(clash.number) : t.windowTitle;
  return (
    <Sheet
      open
      onClose={onClose}
      title={title}
      foot={
        <>
          <span className="t2 s">{editorTexts.merge.waits}</span>
          <div className="row end">
            <Button onClick={onClose}>{t.later}</Button>
            <Button
              look="ink"
              reason={open > 0 ? t.undecided(open) : undefined}
              onClick={() => onResolve(choices)}
            >
              {t.apply}
            </Button>
          </div>
        </>
      }
    >
      <div className="form grow mrg">
        <p className="t2">{t.count(merged.mine.length, merged.conflicts.length)}</p>
        {merged.conflicts.length > 0 ? (
          <div className="tblf">
            <table className="tbl small">
              <thead>
                <tr>
                  <th>{t.field}</th>
                  <th>{t.base}</th>
                  <th>{t.mine}</th>
                  <th>{t.theirs}</th>
                </tr>
              </thead>
              <tbody>
                {merged.conflicts.map((one) => (
                  <Row
                    key={conflictId(one)}
                    conflict={one}
                    chosen={choices[conflictId(one)]}
                    onChoose={(side) => setChoices((all) => ({ ...all, [conflictId(one)]: side }))}
                  />
                ))}
              </tbody>
            </table>
          </div>
        ) : null}
        <Side title={t.onlyMine} changes={merged.mine} />
        <Side title={t.onlyTheirs} changes={merged.theirs} />
      </div>
    </Sheet>
  );
}

type RowProps = {
  conflict: Conflict;
  /** None is chosen for anybody: what is put together was read. */
  chosen?: "mine" | "theirs";
  onChoose: (side: "mine" | "theirs") => void;
};

function Row({ conflict, chosen, onChoose }: RowProps) {
  const what = `${conflict.key} › ${conflict.path ? sayField(conflict.path) : t.whole}`;
  const side = (name: "mine" | "theirs") => (
    <td data-on={chosen === name || undefined}>
      <label className="row">
        <input
          type="radio"
          name={conflictId(conflict)}
          checked={chosen === name}
          aria-label={name === "mine" ? t.useMine(what) : t.useTheirs(what)}
          onChange={() => onChoose(name)}
        />
        {t[name]}
      </label>
      <MergeSide base={conflict.base} value={conflict[name]} />
    </td>
  );
  return (
    <tr>
      <td>
        <b>{conflict.key}</b>{" "}
        <span className="t3">› {conflict.path ? sayField(conflict.path) : t.whole}</span>
      </td>
      <td>
        <FieldValue value={conflict.base} />
      </td>
      {side("mine")}
      {side("theirs")}
    </tr>
  );
}

function Side({ title, changes }: { title: string; changes: StepChange[] }) {
  if (changes.length === 0) return null;
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <ChangeList changes={changes} />
    </section>
  );
}
