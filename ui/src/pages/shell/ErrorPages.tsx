import { type ErrorComponentProps, Link } from "@tanstack/react-router";
import { isNotFound } from "@/api/client";
import { buttonClass } from "@/components/Button";
import { EmptyState, ErrorState } from "@/components/States";
import { shellTexts } from "@/pages/shell/shellTexts";
import { texts } from "@/texts";

/** Not there and not yours look the same. */
export function NotFound() {
  return (
    <EmptyState
      alone
      title={texts.notFoundTitle}
      act={
        <Link to="/deployments" className={buttonClass()}>
          {shellTexts.nav.deployments}
        </Link>
      }
    >
      {texts.notFound}
    </EmptyState>
  );
}

export function ErrorPage({ error, reset }: ErrorComponentProps) {
  if (isNotFound(error)) return <NotFound />;
  return <ErrorState what={`${texts.brokenTitle}.`} error={error} retry={reset} />;
}
