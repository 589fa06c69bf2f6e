import { Link, useSearch } from "@tanstack/react-router";
import type { Deployment, Schemas, Step } from "@/api/client";
import { sayLine } from "@/components/lineNumber";
import { SetSecretAct } from "@/forms/SetSecretAct";
import { runTexts as t } from "@/pages/deployment/runTexts";
import { useReasonNotAdmin } from "../shell/usePermissionReason";
import type { PageSearch } from "./search";

type Props = {
  deployment: Deployment;
  steps: Step[];
  /** The number of the line that says why. */
  line?: number;
};

/** From the sentence of cause to the line that says so, and to what is different from a good run. */
export function CauseLinks({ deployment, steps, line }: Props) {
  const { failure, run } = deployment;
  const step = steps.find((one) => one.key === failure?.step);
  const lacking = lackingSecret(failure);
  const here: PageSearch = useSearch({ strict: false });
  return (
    <div className="row wrap gap-x-4 pt-0.5">
      {step && (line || step.lines > 0) ? (
        <Link
          className="link"
          to="."
          params={(before: object) => ({ ...before, tab: "run" })}
          search={{ run, step: step.key, line }}
          // Once more to where it leads already: back to the line, and no second place to go back from.
          replace={here.step === step.key && here.line === line}
          state={({ visit = 0 }) => ({ visit: visit + 1 })}
          title={line ? sayLine(line) : undefined}
        >
          {line ? t.openLine : t.openLog(step.key)}
        </Link>
      ) : null}
      <Link
        className="link"
        to="."
        params={(before: object) => ({ ...before, tab: "compare" })}
        search={{ run }}
      >
        {t.compare}
      </Link>
      {lacking ? <SetLacking project={deployment.project} name={lacking} /> : null}
    </div>
  );
}

/** The secret that a failed run lacked, as its sentence of cause names it. */
function lackingSecret(failure?: Schemas["Failure"]): string | undefined {
  if (!failure || !["secrets_refused", "unresolved"].includes(failure.code)) return undefined;
  return /\bsecrets?[. ]([A-Za-z]\w*)/.exec(failure.message)?.[1];
}

/** It is set where that is said, by who may. */
function SetLacking(props: { project: string; name: string }) {
  return useReasonNotAdmin() ? null : <SetSecretAct {...props} />;
}

declare module "@tanstack/react-router" {
  interface HistoryState {
    /** How often a link led to the line of the address. */
    visit?: number;
  }
}
