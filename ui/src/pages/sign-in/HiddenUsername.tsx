import { signInTexts } from "./signInTexts";

/** For password managers, which look for whose password a form is about. Nobody sees it. */
export function HiddenUsername({ name }: { name: string }) {
  return (
    <input
      className="vh"
      autoComplete="username"
      readOnly
      tabIndex={-1}
      aria-label={signInTexts.user}
      value={name}
    />
  );
}
