import { Select as Base } from "@base-ui/react/select";
import { Check, ChevronDown } from "lucide-react";
import type { ReactNode } from "react";

export type Option = { value: string; label: string; detail?: ReactNode };

type Props = {
  label: string;
  value: string | null;
  options: Option[];
  placeholder: string;
  onChange: (value: string) => void;
  small?: boolean;
  /** A sentence beside it says why it cannot stay. */
  invalid?: boolean;
};

/** One of a few. For many, see TagPicker. */
export function Select({ label, value, options, placeholder, onChange, small, invalid }: Props) {
  const chosen = options.find((option) => option.value === value);
  return (
    <Base.Root
      value={value}
      items={options}
      onValueChange={(next) => {
        if (next !== null) onChange(next);
      }}
    >
      <Base.Trigger
        className={`btn pickone ${small ? "sm" : ""}`}
        aria-label={`${label}: ${chosen?.label ?? placeholder}`}
        aria-invalid={invalid || undefined}
      >
        <b className="tr">{chosen?.label ?? placeholder}</b>
        {chosen?.detail ? <span className="t3 tr">{chosen.detail}</span> : null}
        <ChevronDown className="i sm end" aria-hidden="true" />
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner className="over" sideOffset={4} alignItemWithTrigger={false} align="start">
          <Base.Popup className="menu">
            <Base.List>
              {options.map((option) => (
                <Base.Item key={option.value} value={option.value} className="mi">
                  <span className="w-3.5">
                    <Base.ItemIndicator>
                      <Check className="i sm" aria-hidden="true" />
                    </Base.ItemIndicator>
                  </span>
                  <Base.ItemText>{option.label}</Base.ItemText>
                  {option.detail ? <span className="end">{option.detail}</span> : null}
                </Base.Item>
              ))}
            </Base.List>
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
