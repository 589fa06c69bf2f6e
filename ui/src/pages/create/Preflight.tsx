import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { RefreshCw } from "lucide-react";
import { type ReactNode, useMemo } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { BidiSafe } from "@/components/BidiSafe";
import { Button } from "@/components/Button";
import { isName } from "@/components/names";
import { describeError } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { Time } from "@/components/Time";
import { useDebounced } from "@/components/useDebounced";
import { SetSecretAct } from "@/forms/SetSecretAct";
import { deployTexts } from "@/pages/deployTexts";
import { useReasonNotAdmin } from "../shell/usePermissionReason";
import { Placement } from "./Summary";

const t = deployTexts.preflight;
type Check = Schemas["PreflightCheck"];
/** How long the form is still before it is checked, in ms. */
const QUIET = 300;

/** The checks that creating would make, of what is in the form now. Nothing is made or reserved. */
export function usePreflight(body: Schemas["DeploymentCreate"]) {
  const text = useDebounced(JSON.stringify(body), QUIET);
  const settled = useMemo<Schemas["DeploymentCreate"]>(() => JSON.parse(text), [text]);
  const complete = isName(settled.name) && settled.project !== "" && settled.environment !== "";
  const query = useQuery({
    queryKey: ["preflight", text],
    queryFn: () => ask(client.POST("/api/v1/deployments/preflight", { body: settled })),
    enabled: complete,
    placeholderData: keepPreviousData,
    gcTime: 30_000,
    retry: false,
  });
  const fresh = !query.isPlaceholderData && text === JSON.stringify(body);
  const failed = (query.data?.checks ?? []).filter((check) => check.state === "failed");
  const placed = settled.project !== "" && settled.environment !== "";
  const missing = complete ? undefined : placed ? t.unnamed : t.waiting;
  return { query, complete, missing, fresh, failed: complete && fresh ? failed : [] };
}

type Props = {
  project: string;
  checks: ReturnType<typeof usePreflight>;
  /** Those that failed and are said nowhere else: the others stand at their field. */
  open: Check[];
  /** The nodes are listed with the refusal already. */
  placed: boolean;
  waits: boolean;
  setWait: (wait: boolean) => void;
};

/** What stops comes first and carries its remedy; what passes is one line. */
export function Preflight({ project, checks, open, placed, waits, setWait }: Props) {
  const { query, complete, missing, fresh } = checks;
  const all = complete ? (query.data?.checks ?? []) : [];
  const passed = all.filter((check) => check.state === "ok");
  const loud = [...open, ...all.filter((check) => check.state === "unknown")];
  const full = all.some((check) => check.id === "capacity" && check.state === "failed");
  const nodes = (query.data?.nodes ?? []).filter((node) => !node.fits);
  const listed = full ? nodes.map((node) => ` ${node.node}: ${node.reason}`).join("") : "";
  return (
    <section aria-label={t.title} className="flex flex-col gap-2">
      <div className="row">
        <h2>{t.title}</h2>
        <span className="t3 s end nw" role="status">
          {!complete ? null : !fresh || query.isFetching ? (
            t.checking
          ) : query.data ? (
            <>
              {t.checked} <Time at={new Date(query.dataUpdatedAt).toISOString()} />
            </>
          ) : null}
        </span>
        <Button
          act={t.again}
          look="ghost"
          small
          icon
          aria-label={t.again}
          title={t.again}
          reason={missing}
          onClick={() => void query.refetch()}
        >
          <RefreshCw className="i sm" aria-hidden="true" />
        </Button>
      </div>
      {missing ? <p className="t3">{missing}</p> : null}
      {complete && query.isError ? (
        <StatusMark state="unknown">
          {t.unread} {describeError(query.error).message}
        </StatusMark>
      ) : null}
      {loud.map((check) => (
        <One
          key={`${check.id} ${check.subject} ${check.message}`}
          check={check}
          message={check.message.replace(listed, "")}
        >
          {check.id === "secret" && check.subject ? (
            <SetMissing project={project} name={check.subject} onSet={() => void query.refetch()} />
          ) : null}
        </One>
      ))}
      {full && !placed && nodes.length > 0 ? (
        <Placement rows={nodes.map((node) => ({ ...node, reason: node.reason ?? "" }))} />
      ) : null}
      {full || waits ? (
        <div className="row">
          <Button
            act={waits ? t.noWait : t.wait}
            small
            aria-pressed={waits}
            onClick={() => setWait(!waits)}
          >
            {waits ? t.noWait : t.wait}
          </Button>
          {waits ? <span className="t2 s">{t.waitOn}</span> : null}
        </div>
      ) : null}
      {passed.length > 0 ? <Passed checks={passed} /> : null}
    </section>
  );
}

/** A secret that is missing is set where that is said, by who may. */
function SetMissing(props: { project: string; name: string; onSet: () => void }) {
  return useReasonNotAdmin() ? null : <SetSecretAct {...props} />;
}

type OneProps = { check: Check; message: string; children?: ReactNode };

/** `message` is what is not said beside it, such as why each node has no room. */
function One({ check, message, children }: OneProps) {
  const state = check.state === "failed" ? "failed" : "warn";
  return (
    <div className="box" data-st={state}>
      <StatusMark state={state}>
        <span className="vh">{t.state[check.state]}</span>
      </StatusMark>
      <div className="grow">
        <b className="break-words">
          <BidiSafe text={message} />
        </b>
        {check.remedy ? (
          <p className="t2">
            <BidiSafe text={check.remedy} />
          </p>
        ) : null}
        {children}
      </div>
    </div>
  );
}

function Passed({ checks }: { checks: Check[] }) {
  return (
    <details className="passed">
      <summary>
        <StatusMark state="ready">{t.passed(checks.length)}</StatusMark>
      </summary>
      <ul className="flex flex-col gap-1 pt-1 pl-6 s t2">
        {checks.map((check) => (
          <li key={`${check.id} ${check.subject} ${check.message}`}>
            <BidiSafe text={check.message} />
          </li>
        ))}
      </ul>
    </details>
  );
}
