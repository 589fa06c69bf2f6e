import { Link2 } from "lucide-react";
import type { KeyboardEvent, ReactNode } from "react";
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

type ReferProps = { label: string; offers: Offer[]; onChoose: (text: string) => void };

/** What earlier steps give, the secrets, and the deployment: one of them is put into the field. */
export function Refer({ label, offers, onChoose }: ReferProps) {
  const groups = [...new Set(offers.map((offer) => offer.group))];
  return (
    <span className="refer" title={t.reference}>
      <Link2 className="i sm" aria-hidden="true" />
      <Pick
        label={t.referenceOf(label)}
        first={offers.length > 0 ? t.reference : t.noReference}
        onChoose={onChoose}
      >
        {groups.map((group) => (
          <optgroup key={group} label={group}>
            {offers
              .filter((offer) => offer.group === group)
              .map((offer) => (
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
