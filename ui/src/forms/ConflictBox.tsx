import "./conflict.css";
import { useEffect, useId, useRef } from "react";
import { Button } from "@/components/Button";
import { Glyph } from "@/components/Glyph";
import { formTexts } from "@/forms/formTexts";
import { type Change, type Side, standsOn } from "./conflict";
import type { Form, Values } from "./useForm";

const t = formTexts.meanwhile;

type Props<V extends Values> = { form: Form<V>; meanwhile: NonNullable<Form<V>["meanwhile"]> };

/**
 * What somebody else changed while the form was open, field by field. Fields that only they changed
 * are taken over; where both did, the person must choose before saving.
 */
export function ConflictBox<V extends Values>({ form, meanwhile }: Props<V>) {
  const id = useId();
  const box = useRef<HTMLElement>(null);
  const { changes } = meanwhile;
  const both = changes.filter((one) => one.both).length;
  useEffect(() => box.current?.focus(), [changes]);
  return (
    <section
      ref={box}
      tabIndex={-1}
      className="box met"
      data-st="warn"
      aria-labelledby={`${id}-title`}
      aria-describedby={`${id}-what`}
    >
      <div className="col gap-3 grow min-w-0">
        <div className="col gap-1">
          <b id={`${id}-title`} className="row" role="alert">
            <Glyph state="warn" size="sm" />
            {t.title}
          </b>
          <span id={`${id}-what`} className="t2">
            {both > 0 ? t.both(both) : t.untouched}
          </span>
        </div>
        {changes.map((change) => (
          <Field key={change.name} form={form} change={change} />
        ))}
        <div className="row flex-wrap">
          <Button onClick={() => form.side("theirs")}>{t.takeTheirs}</Button>
          <Button onClick={() => form.side("mine")}>{t.saveMine}</Button>
        </div>
      </div>
    </section>
  );
}

function Field<V extends Values>({ form, change }: { form: Form<V>; change: Change }) {
  const { name, both } = change;
  const { label, say } = form.known.get(name) ?? { label: name.replaceAll("_", " ") };
  const words = (value: unknown) => (say ? say(value) : inWords(value)) || t.nothing;
  const chosen = standsOn(change, form.values[name]);
  const waits = both && form.meanwhile?.undecided.includes(name);
  const choice = (side: Side, head: string) => (
    <Choice
      name={name}
      head={head}
      value={words(change[side])}
      chosen={!waits && chosen === side}
      choose={() => form.set({ [name]: change[side] } as Partial<V>)}
    />
  );
  return (
    <fieldset className="field">
      <legend className="lbl">{label}</legend>
      {both ? <p className="s t2 cutlines">{t.was(words(change.opened))}</p> : null}
      <div className="two">
        {choice("theirs", t.theirs)}
        {choice("mine", both ? t.mine : t.asOpened)}
      </div>
      {chosen ? null : <p className="s t2">{t.typed}</p>}
    </fieldset>
  );
}

type ChoiceProps = {
  name: string;
  head: string;
  value: string;
  chosen: boolean;
  choose: () => void;
};

function Choice({ name, head, value, chosen, choose }: ChoiceProps) {
  const id = useId();
  return (
    <div className="side">
      <div className="ck">
        <input id={id} type="radio" name={`met-${name}`} checked={chosen} onChange={choose} />
        <label htmlFor={id}>{head}</label>
      </div>
      <label htmlFor={id} className="cutlines mono">
        {value}
      </label>
    </div>
  );
}

/** A field's value as a person reads it. */
function inWords(value: unknown): string {
  if (typeof value === "boolean") return value ? formTexts.yes : formTexts.no;
  if (Array.isArray(value)) return value.join(", ");
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value ?? "");
}
