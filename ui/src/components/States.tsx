import type { ReactNode } from "react";
import { texts } from "@/texts";
import { Button } from "./Button";
import { Mark } from "./Glyph";
import { StatusMark } from "./Status";

/** An empty list: what will be here, and the action that adds the first item. */
export function EmptyState({
  title,
  children,
  act,
  alone,
}: {
  title: string;
  children?: ReactNode;
  act?: ReactNode;
  /** The page has no heading of its own. */
  alone?: boolean;
}) {
  return (
    <div className="empty">
      <Mark />
      {alone ? <h1>{title}</h1> : <h2>{title}</h2>}
      {children ? <p className="t2">{children}</p> : null}
      {act}
    </div>
  );
}

type ErrorProps = { what: string; error: unknown; retry: () => void; stale?: string };

/** A failed load: what, why, and whether older data is still shown. */
export function ErrorState({ what, error, retry, stale }: ErrorProps) {
  const { message, request } = describeError(error);
  return (
    <div className="box m-4" data-st="failed" role="alert">
      <StatusMark state="failed">
        <span className="vh">{texts.states.failed}</span>
      </StatusMark>
      <div className="grow col gap-1">
        <b>
          {what} {message}
        </b>
        {stale ? <span className="t2">{stale}</span> : null}
        <span className="row">
          <Button small onClick={retry}>
            {texts.tryAgain}
          </Button>
          {request ? <span className="t2 s mono">{texts.request(request)}</span> : null}
        </span>
      </div>
    </div>
  );
}

/** The sentence and the request id of an error of the API, or of the network. */
export function describeError(error: unknown): { message: string; request?: string } {
  if (error && typeof error === "object" && "problem" in error) {
    const problem = error.problem as {
      detail?: string;
      title?: string;
      remedy?: string;
      request_id?: string;
    };
    const sentence = [problem.detail ?? problem.title, problem.remedy].filter(Boolean).join(" ");
    return { message: sentence || texts.noAnswer, request: problem.request_id };
  }
  const late = error instanceof DOMException && error.name === "TimeoutError";
  return { message: late ? texts.lateAnswer : texts.noAnswer };
}

/**
 * Placeholders of the content's height, shown after 150 ms. Screen readers hear that the region is
 * busy.
 */
export function Skeletons({ count, height = 36 }: { count: number; height?: number }) {
  return (
    <div aria-busy="true">
      {Array.from({ length: count }, (_, i) => (
        <div
          key={i}
          aria-hidden="true"
          className="row gap-6 border-line-faint border-b px-4"
          style={{ height }}
        >
          <span className="skeleton" style={{ width: `${18 + ((i * 7) % 11)}%` }} />
          <span className="skeleton" style={{ width: `${9 + ((i * 5) % 8)}%` }} />
          <span className="skeleton" style={{ width: `${12 + ((i * 3) % 9)}%` }} />
        </div>
      ))}
    </div>
  );
}
