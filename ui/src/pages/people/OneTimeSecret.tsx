import { CopyButton } from "@/components/Copy";

/** A text that is shown once: a link, a token. */
export function OneTimeSecret({
  text,
  what,
  children,
}: {
  text: string;
  what: string;
  children: string;
}) {
  return (
    <div className="box" data-st="warn" role="status">
      <div className="col gap-2">
        <span>{children}</span>
        <span className="row">
          <code className="mono s grow break-all" data-secret>
            {text}
          </code>
          <CopyButton text={text} what={what} />
        </span>
      </div>
    </div>
  );
}
