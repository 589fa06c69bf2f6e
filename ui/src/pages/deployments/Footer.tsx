import { texts } from "@/texts";

const t = texts.list.keys;

/** The keys of the list, and how much of it is shown. */
export function Footer({ said, allowed }: { said?: string; allowed: boolean }) {
  return (
    <footer className="foot hide-m">
      <span>
        <kbd>J</kbd> <kbd>K</kbd> {t.move}
      </span>
      <span>
        <kbd>Enter</kbd> {t.page}
      </span>
      <span>
        <kbd>O</kbd> {t.url}
      </span>
      <span>
        <kbd>Y</kbd> {t.copy}
      </span>
      <span>
        <kbd>X</kbd> {t.mark}
      </span>
      {allowed ? (
        <span>
          <kbd>N</kbd> {t.create}
        </span>
      ) : null}
      <span>
        <kbd>?</kbd> {t.all}
      </span>
      {said ? <span className="end">{said}</span> : null}
    </footer>
  );
}
