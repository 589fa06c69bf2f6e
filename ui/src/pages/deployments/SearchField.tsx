import { Search } from "lucide-react";
import { useTypedValue } from "@/components/useTypedValue";

type Props = { label: string; placeholder: string; kept?: string; set: (text?: string) => void };

/** The keys that give the keyboard back to the list. */
const LEAVE = ["Enter", "Escape"];

/** The search of a list, which the address keeps. */
export function SearchField({ label, placeholder, kept, set }: Props) {
  const [text, type] = useTypedValue(kept ?? "", (next) => set(next || undefined));
  return (
    <div className="in sm find">
      <Search className="i sm t3" aria-hidden="true" />
      <input
        id="find"
        type="search"
        placeholder={placeholder}
        aria-label={label}
        value={text}
        onChange={(event) => type(event.target.value)}
        // Enter keeps what was typed; Escape takes it away, as browsers do.
        onKeyDown={({ key, currentTarget }) => LEAVE.includes(key) && currentTarget.blur()}
      />
      <kbd>/</kbd>
    </div>
  );
}
