import { Search } from "lucide-react";
import type { KeyboardEvent } from "react";

/** How far a page key goes, in entries. */
const PAGE = 8;

type Props = {
  /** The list is `${id}-list`, its entries `${id}-0` and so on. */
  id: string;
  label: string;
  value: string;
  onType: (text: string) => void;
  /** The marked one of so many. */
  active: number;
  count: number;
  setActive: (at: number) => void;
  take: () => void;
};

/** A search field that controls a list: arrow keys mark an entry, Enter picks it. */
export function ListFind({ id, label, value, onType, active, count, setActive, take }: Props) {
  const move = (by: number) => setActive(Math.max(0, Math.min(count - 1, active + by)));
  const press = (event: KeyboardEvent) => {
    const keys: Record<string, () => void> = {
      ArrowDown: () => move(1),
      ArrowUp: () => move(-1),
      PageDown: () => move(PAGE),
      PageUp: () => move(-PAGE),
      Enter: take,
    };
    const run = keys[event.key];
    if (!run) return;
    event.preventDefault();
    event.stopPropagation();
    run();
  };
  return (
    <div className="in sm">
      <Search className="i sm t3" aria-hidden="true" />
      <input
        role="combobox"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={active < count ? `${id}-${active}` : undefined}
        aria-label={label}
        placeholder={label}
        autoComplete="off"
        spellCheck={false}
        value={value}
        onChange={(event) => {
          setActive(0);
          onType(event.target.value);
        }}
        onKeyDown={press}
      />
    </div>
  );
}
