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

/** How browsers word that something did not arrive: an answer, or a part of this program. */
const notArrived = /fetch|network|load|import/i;

export function ErrorPage({ error, reset }: ErrorComponentProps) {
  if (isNotFound(error)) return <NotFound />;
  const ours = error instanceof Error && !("problem" in error) && !notArrived.test(error.message);
  const said = ours ? { problem: { detail: texts.brokenHere } } : error;
  return <ErrorState what={`${texts.brokenTitle}.`} error={said} retry={reset} />;
}
