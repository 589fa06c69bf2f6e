import { Link2 } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useState } from "react";
import { editorTexts } from "@/editorTexts";
import type { PortType } from "./catalogue";

const t = editorTexts.step;

/** A reference that a field could hold, and what it is called in the menu. */
export type Offer = { group: string; text: string; label: string; type: PortType };

const OPENS = "ArrowDown ArrowUp ArrowLeft ArrowRight Home End PageUp PageDown Enter".split(" ");

/**
 * A native list of things to do. A closed one would do the first at the first arrow; here each key
 * opens it, and only what is chosen there is done.
 */
export function Pick(props: {
  label: string;
  first: string;
  className?: string;
  connect?: boolean;
  onChoose: (value: string) => void;
  children: ReactNode;
}) {
  const press = (event: KeyboardEvent<HTMLSelectElement>) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key.length > 1 && !OPENS.includes(event.key)) return;
    event.preventDefault();
    event.currentTarget.showPicker?.();
  };
  return (
    <select
      className={props.className}
      data-connect={props.connect ? true : undefined}
      aria-label={props.label}
      value=""
      onKeyDown={press}
      onChange={(event) => event.target.value && props.onChoose(event.target.value)}
    >
      <option value="">{props.first}</option>
      {props.children}
    </select>
  );
}

type ReferProps = { label: string; offers: () => Offer[]; onChoose: (text: string) => void };

/**
 * What earlier steps give, the secrets, and the deployment: one of them is put into the field. Among
 * five hundred steps these are thousands, so they are there only while somebody is at the menu.
 */
export function Refer({ label, offers, onChoose }: ReferProps) {
  const [near, setNear] = useState(false);
  const [inside, setInside] = useState(false);
  const all = near || inside ? offers() : undefined;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only learns who is at the menu inside
    <span
      className="refer"
      title={t.reference}
      onPointerEnter={() => setNear(true)}
      onPointerLeave={() => setNear(false)}
      onFocus={() => setInside(true)}
      onBlur={() => setInside(false)}
    >
      <Link2 className="i sm" aria-hidden="true" />
      <Pick
        label={t.referenceOf(label)}
        first={all?.length === 0 ? t.noReference : t.reference}
        onChoose={onChoose}
      >
        {groupsOf(all ?? []).map(([group, offers]) => (
          <optgroup key={group} label={group}>
            {offers.map((offer) => (
              <option key={offer.text} value={offer.text}>
                {offer.label}
              </option>
            ))}
          </optgroup>
        ))}
      </Pick>
    </span>
  );
}

function groupsOf(offers: Offer[]): [string, Offer[]][] {
  const groups = new Map<string, Offer[]>();
  for (const offer of offers) groups.set(offer.group, [...(groups.get(offer.group) ?? []), offer]);
  return [...groups];
}
