import { useId } from "react";
import { Refusal } from "@/components/Field";
import { type Source, Unread } from "../admin/Unread";

type Props = {
  label: string;
  hint?: string;
  error?: string;
  all: string[];
  source?: Source;
  chosen: string[];
  set: (chosen: string[]) => void;
};

/** Some of a list, by check boxes. */
export function Picks({ label, hint, error, all, source, chosen, set }: Props) {
  const id = useId();
  if (all.length === 0 && !error && !source?.of.error) return null;
  const toggle = (name: string, on: boolean) =>
    set(on ? [...chosen, name].sort() : chosen.filter((one) => one !== name));
  return (
    <fieldset className="field" aria-describedby={error ? `${id}-wrong` : undefined}>
      <legend className="lbl">{label}</legend>
      {all.map((name) => (
        <div className="ck" key={name}>
          <input
            id={`${id}-${name}`}
            type="checkbox"
            checked={chosen.includes(name)}
            onChange={(event) => toggle(name, event.target.checked)}
          />
          <label htmlFor={`${id}-${name}`}>{name}</label>
        </div>
      ))}
      {error ? (
        <div id={`${id}-wrong`}>
          <Refusal>{error}</Refusal>
        </div>
      ) : null}
      {source ? <Unread {...source} /> : null}
      {hint ? <div className="hint">{hint}</div> : null}
    </fieldset>
  );
}
