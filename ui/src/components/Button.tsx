import {
  type ButtonHTMLAttributes,
  type FocusEvent,
  type MouseEvent,
  type ReactNode,
  useRef,
} from "react";
import { isLack, useShownLack } from "./lack";
import { usePageAction } from "./pageActions";
import { useReason } from "./Reason";

/** Not `disabled`: a button that cannot get the focus cannot explain itself. */
type Props = Omit<ButtonHTMLAttributes<HTMLButtonElement>, "disabled"> & {
  look?: "ink" | "plain" | "ghost" | "danger";
  small?: boolean;
  icon?: boolean;
  /** Said instead of the label while the act runs; the button keeps its width. */
  busy?: string | false;
  /**
   * Why the act cannot be done now, and who can change that. The button stays focusable. It is left
   * out if the reason is missing access: then the page has a line that says so.
   */
  reason?: string;
  /** What the palette calls the act, for an act of the page as a whole. */
  act?: string;
};

const looks = { ink: "pri", plain: "", ghost: "ghost", danger: "danger" };

export function Button({
  look = "plain",
  small,
  icon,
  busy,
  reason,
  act,
  className,
  children,
  onClick,
  ...rest
}: Props) {
  const off = Boolean(reason) || Boolean(busy);
  const self = useRef<HTMLButtonElement>(null);
  usePageAction(
    act && !busy ? { label: act, reason, run: () => self.current?.click() } : undefined,
  );
  const why = useReason(reason, self);
  useShownLack(reason);
  const press = (event: MouseEvent<HTMLButtonElement>) => {
    if (reason) why.show();
    if (off) event.preventDefault();
    else onClick?.(event);
  };
  const focus = (event: FocusEvent<HTMLButtonElement>) => {
    why.onFocus();
    rest.onFocus?.(event);
  };
  const blur = (event: FocusEvent<HTMLButtonElement>) => {
    why.onBlur();
    rest.onBlur?.(event);
  };
  if (isLack(reason)) return null;
  return (
    <>
      <button
        ref={self}
        type="button"
        {...rest}
        className={buttonClass(look, small, icon, className)}
        aria-disabled={reason ? true : undefined}
        aria-busy={busy ? true : undefined}
        aria-describedby={why.described ?? rest["aria-describedby"]}
        title={reason ?? rest.title}
        onClick={press}
        onFocus={focus}
        onBlur={blur}
      >
        {busy ? <Busy label={children} busy={busy} /> : children}
      </button>
      {why.tip}
    </>
  );
}

/** The same look for links. */
export function buttonClass(
  look: keyof typeof looks = "plain",
  small?: boolean,
  icon?: boolean,
  more?: string,
): string {
  return ["btn", looks[look], small && "sm", icon && "ic", more].filter(Boolean).join(" ");
}

function Busy({ label, busy }: { label: ReactNode; busy: string }) {
  return (
    <span className="grid">
      <span
        className="invisible col-start-1 row-start-1 inline-flex items-center gap-1.5"
        aria-hidden="true"
      >
        {label}
      </span>
      <span className="col-start-1 row-start-1">{busy}</span>
    </span>
  );
}
