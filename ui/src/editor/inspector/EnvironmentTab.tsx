import { useId } from "react";
import { Glyph } from "@/components/Glyph";
import { editorTexts } from "@/editor/editorTexts";
import { environmentOf, type Piece, type Samples } from "../model/environment";
import { ChoiceInput } from "./fields";
import type { StepFormProps } from "./records";

const t = editorTexts.step;

/** The environment as the service's process will have it. No secret's value is even here. */
export function EnvironmentTab({ step, doc, catalogue, sample }: StepFormProps) {
  const all = environmentOf(step, doc, catalogue, sample);
  return (
    <>
      <Where sample={sample} />
      <p className="hint">{t.environmentHint}</p>
      {all.length === 0 ? <p className="t3">{t.noEnvironment}</p> : null}
      <dl className="envs">
        {all.map(({ name, pieces }) => (
          <div key={name}>
            <dt className="mono">{name}</dt>
            <dd className="mono">
              {pieces.map((piece, i) => (
                <Shown key={i} piece={piece} />
              ))}
            </dd>
            {pieces.map((piece, i) => (piece.why ? <Why key={i} why={piece.why} /> : null))}
          </div>
        ))}
      </dl>
    </>
  );
}

/** Which environment it is: names and URLs differ from one to another. */
function Where({ sample }: { sample: Samples }) {
  const id = useId();
  if (sample.all.length === 0) return null;
  return (
    <div className="f">
      <label className="lbl" htmlFor={id}>
        {t.environmentOf}
      </label>
      <ChoiceInput
        id={id}
        value={sample.environment}
        options={sample.all.map((value) => ({ value, label: value }))}
        onChange={sample.choose}
      />
    </div>
  );
}

const LOOKS = { known: "", later: "ref", secret: "se", wrong: "no" };

function Shown({ piece: { kind, text } }: { piece: Piece }) {
  const title = kind === "secret" ? t.masked : kind === "later" ? t.later : undefined;
  return (
    <span className={LOOKS[kind]} title={title}>
      {text}
    </span>
  );
}

function Why({ why }: { why: string }) {
  return (
    <dd className="er" data-st="failed">
      <Glyph state="failed" size="sm" />
      <span>{why}</span>
    </dd>
  );
}
