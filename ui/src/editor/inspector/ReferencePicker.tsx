import { Link2 } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useState } from "react";
import { editorTexts } from "@/editor/editorTexts";
import type { ReferenceOption } from "../model/referenceOptions";

const t = editorTexts.step;

const OPENS = "ArrowDown ArrowUp ArrowLeft ArrowRight Home End PageUp PageDown Enter".split(" ");

type PickProps = {
  label: string;
  first: string;
  /** In place of `first` where there is nothing to choose. */
  none?: string;
  className?: string;
  connect?: boolean;
  onChoose: (value: string) => void;
  children: () => ReactNode;
};

/**
 * A native select used as a menu. A closed select would run the first option on an arrow key; here
 * every key opens it, and only a choice runs. With five hundred steps it has thousands of options,
 * so they are rendered only while it has the focus.
 */
export function Pick({ label, first, none, className, connect, onChoose, children }: PickProps) {
  const [near, setNear] = useState(false);
  const [inside, setInside] = useState(false);
  const options = near || inside ? children() : undefined;
  const press = (event: KeyboardEvent<HTMLSelectElement>) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key.length > 1 && !OPENS.includes(event.key)) return;
    event.preventDefault();
    event.currentTarget.showPicker?.();
  };
  return (
    <select
      className={className}
      data-connect={connect ? true : undefined}
      aria-label={label}
      value=""
      onPointerEnter={() => setNear(true)}
      onPointerLeave={() => setNear(false)}
      onFocus={() => setInside(true)}
      onBlur={() => setInside(false)}
      onKeyDown={press}
      onChange={(event) => event.target.value && onChoose(event.target.value)}
    >
      <option value="">{options === null ? none : first}</option>
      {options}
    </select>
  );
}

type ReferencePickerProps = {
  label: string;
  offers: () => ReferenceOption[];
  onChoose: (text: string) => void;
};

/** What earlier steps give, the secrets, and the deployment: one of them is put into the field. */
export function ReferencePicker({ label, offers, onChoose }: ReferencePickerProps) {
  return (
    <span className="refer" title={t.reference}>
      <Link2 className="i sm" aria-hidden="true" />
      <Pick
        label={t.referenceOf(label)}
        first={t.reference}
        none={t.noReference}
        onChoose={onChoose}
      >
        {() => optionsOf(offers())}
      </Pick>
    </span>
  );
}

function optionsOf(offers: ReferenceOption[]): ReactNode {
  if (offers.length === 0) return null;
  return groupsOf(offers).map(([group, offers]) => (
    <optgroup key={group} label={group}>
      {offers.map((offer) => (
        <option key={offer.text} value={offer.text}>
          {offer.label}
        </option>
      ))}
    </optgroup>
  ));
}

function groupsOf(offers: ReferenceOption[]): [string, ReferenceOption[]][] {
  const groups = new Map<string, ReferenceOption[]>();
  for (const offer of offers) groups.set(offer.group, [...(groups.get(offer.group) ?? []), offer]);
  return [...groups];
}
