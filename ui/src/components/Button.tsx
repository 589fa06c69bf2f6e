import type { ButtonHTMLAttributes, MouseEvent, ReactNode } from "react";

/** Without `disabled`: a button that nobody can reach can't say why. */
type Props = Omit<ButtonHTMLAttributes<HTMLButtonElement>, "disabled"> & {
  look?: "ink" | "plain" | "ghost" | "danger";
  small?: boolean;
  icon?: boolean;
  /** Said instead of the label while the act runs; the button keeps its width. */
  busy?: string | false;
  /** Why the act cannot be done now, and who can change that. The button stays focusable. */
  reason?: string;
};

const looks = { ink: "pri", plain: "", ghost: "ghost", danger: "danger" };

export function Button({
  look = "plain",
  small,
  icon,
  busy,
  reason,
  className,
  children,
  onClick,
  ...rest
}: Props) {
  const off = Boolean(reason) || Boolean(busy);
  const press = (event: MouseEvent<HTMLButtonElement>) => {
    if (off) event.preventDefault();
    else onClick?.(event);
  };
  return (
    <button
      type="button"
      {...rest}
      className={buttonClass(look, small, icon, className)}
      aria-disabled={reason ? true : undefined}
      aria-busy={busy ? true : undefined}
      title={reason ?? rest.title}
      onClick={press}
    >
      {busy ? <Busy label={children} busy={busy} /> : children}
    </button>
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
