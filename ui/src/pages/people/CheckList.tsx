import { useContext, useId, useState } from "react";
import { Refusal } from "@/components/Field";
import { ReadOnly } from "@/forms/Fields";
import { formTexts as t } from "@/forms/formTexts";
import { type Source, UnreadSource } from "@/forms/UnreadSource";

type Props = {
  label: string;
  hint?: string;
  error?: string;
  all: string[];
  source?: Source;
  chosen: string[];
  set: (chosen: string[]) => void;
};

/** So many are seen at a glance; more are searched. */
const GLANCE = 12;

/** Some of a list, by check boxes. What is chosen can be taken away though the list lacks it. */
export function CheckList({ label, hint, error, all, source, chosen, set }: Props) {
  const id = useId();
  // Those chosen at first stand first and stay there: a box must not jump away when it is ticked.
  const [first] = useState(chosen);
  const names = [...new Set([...first, ...chosen.filter((one) => !all.includes(one)), ...all])];
  if (names.length === 0 && !error && !source?.of.error) return null;
  const boxes = { id, chosen, set };
  return (
    <fieldset className="field" aria-describedby={error ? `${id}-wrong` : undefined}>
      <legend className="lbl">{label}</legend>
      {names.length > GLANCE ? (
        <Searched {...boxes} label={label} names={names} />
      ) : (
        <Boxes {...boxes} names={names} />
      )}
      {error ? (
        <div id={`${id}-wrong`}>
          <Refusal>{error}</Refusal>
        </div>
      ) : null}
      {source ? <UnreadSource {...source} /> : null}
      {hint ? <div className="hint">{hint}</div> : null}
    </fieldset>
  );
}

type BoxProps = {
  id: string;
  names: string[];
  chosen: string[];
  set: (chosen: string[]) => void;
};

function Searched({ label, ...boxes }: BoxProps & { label: string }) {
  const [search, setSearch] = useState("");
  const wanted = search.trim().toLowerCase();
  const found = boxes.names.filter((one) => one.toLowerCase().includes(wanted));
  return (
    <>
      <div className="row">
        <div className="in sm grow">
          <input
            type="search"
            aria-label={t.find(label)}
            placeholder={t.search}
            value={search}
            onChange={(event) => setSearch(event.target.value)}
            // It would save the form.
            onKeyDown={(event) =>
              event.key === "Enter" && !event.ctrlKey && !event.metaKey && event.preventDefault()
            }
          />
        </div>
        <span className="t2 s" role="status">
          {t.chosen(boxes.chosen.length, boxes.names.length)}
        </span>
      </div>
      <div className="col max-h-80 gap-1 overflow-auto p-1">
        {found.length === 0 ? <span className="t2 s">{t.noMatchTitle}</span> : null}
        <Boxes {...boxes} names={found} />
      </div>
    </>
  );
}

function Boxes({ id, names, chosen, set }: BoxProps) {
  const locked = useContext(ReadOnly);
  const toggle = (name: string, on: boolean) =>
    set(on ? [...chosen, name].sort() : chosen.filter((one) => one !== name));
  return names.map((name) => (
    <div className="ck" key={name}>
      <input
        id={`${id}-${name}`}
        type="checkbox"
        disabled={locked}
        checked={chosen.includes(name)}
        onChange={(event) => toggle(name, event.target.checked)}
      />
      <label htmlFor={`${id}-${name}`}>{name}</label>
    </div>
  ));
}
