import type { NodeInfo } from "@/api/client";
import { Button } from "@/components/Button";
import { CommandLine } from "@/components/CommandLine";
import { thumbprint } from "@/components/names";
import { Rail, StatusMark, stateWord } from "@/components/Status";
import { nodeTexts } from "@/nodeTexts";
import { machineTexts } from "@/pages/nodes/machineTexts";
import { useNodeAct } from "./useNodeAct";

const t = nodeTexts;
const d = machineTexts.decide;

/** What is said depends on what there is to compare with: approved, expected at first contact, nothing. */
function wordsFor({ name, thumbprint: approved, expected_thumbprint: expected }: NodeInfo) {
  if (approved) return { title: t.unseenTitle(name), body: t.unseen, reject: t.reject };
  if (expected) return { title: d.firstTitle(name), body: d.first, reject: d.reject };
  return { title: d.plainTitle(name), body: d.plain, reject: d.reject };
}

/**
 * Asks an admin to approve or reject a certificate: both full thumbprints, and whether the proof of
 * possession is valid. Without a valid proof there is no approval.
 */
export function TrustDecision({ node }: { node: NodeInfo }) {
  const { title, body } = wordsFor(node);
  const known = node.thumbprint ?? node.expected_thumbprint;
  return (
    <section className="card mx-4 mt-1" data-st="stuck" aria-label={title}>
      <Rail state="stuck" />
      <h2>{title}</h2>
      <p className="t2 max-w-[72ch]">{body}</p>
      <dl className="kv">
        {known ? (
          <>
            <dt>{node.thumbprint ? t.approvedNow : d.expected}</dt>
            <dd className={`thumb ${node.thumbprint ? "old" : ""}`}>{thumbprint(known)}</dd>
          </>
        ) : null}
        <dt>{t.shownNow}</dt>
        <dd className="thumb new">{thumbprint(node.pending_thumbprint ?? "")}</dd>
      </dl>
      <ThumbprintCommands name={node.name} cluster={Boolean(node.inventory?.cluster)} />
      <Proof valid={node.pending_proof_valid === true} />
      <Choice node={node} />
    </section>
  );
}

function Proof({ valid }: { valid: boolean }) {
  return (
    <p className="row">
      <StatusMark state={valid ? "ready" : "failed"}>
        <span className="vh">{stateWord(valid ? "done" : "failed")}</span>
      </StatusMark>
      {valid ? t.proved : t.notProved}
    </p>
  );
}

function Choice({ node }: { node: NodeInfo }) {
  const act = useNodeAct(node.name);
  const decide = (kind: "approve" | "reject") =>
    act.isPending || act.mutate({ kind, thumbprint: node.pending_thumbprint ?? "" });
  const runs = (kind: string) => act.isPending && act.variables?.kind === kind;
  return (
    <div className="row flex-wrap">
      {node.pending_proof_valid ? (
        <Button
          look="ink"
          busy={runs("approve") && t.approveBusy}
          onClick={() => decide("approve")}
        >
          {t.approve}
        </Button>
      ) : null}
      <Button busy={runs("reject") && d.rejecting} onClick={() => decide("reject")}>
        {wordsFor(node).reject}
      </Button>
    </div>
  );
}

/** Sixteen groups of four, as the page shows them. */
const GROUPED = "| tr a-f A-F | fold -w4 | paste -sd' '";
const IN_CONTAINER = `docker exec nullops-agent /app/nullops agent identity --agent.data=/data ${GROUPED}`;
const AS_SERVICE = `sudo /opt/nullops/nullops agent identity --agent.data=/var/lib/nullops ${GROUPED}`;

/** The pod is that of the line which installs the agent. */
const inCluster = (name: string) =>
  `kubectl --namespace nullops-${name} exec deployment/nullops-${name} -- /app/nullops agent identity --agent.data=/data ${GROUPED}`;

/** The commands that print a thumbprint where the agent runs. */
export function ThumbprintCommands({ name, cluster }: { name: string; cluster: boolean }) {
  const p = machineTexts.print;
  return (
    <details className="fold">
      <summary>{cluster ? p.clusterTitle : p.title}</summary>
      {cluster ? (
        <div className="col gap-2 pt-1">
          <CommandLine line={inCluster(name)} what={p.what} />
        </div>
      ) : (
        <div className="col gap-2 pt-1">
          <CommandLine label={p.container} line={IN_CONTAINER} what={p.what} />
          <CommandLine label={p.service} line={AS_SERVICE} what={p.what} />
        </div>
      )}
    </details>
  );
}

/** The certificates of a node: trusted, expected and rejected. */
export function Certificate({ node }: { node: NodeInfo }) {
  return (
    <section>
      <h2 className="mb-1">{t.certificate}</h2>
      <p className="t3 s">{t.sha}</p>
      {node.thumbprint ? (
        <p className="thumb">{thumbprint(node.thumbprint)}</p>
      ) : (
        <p className="t3">{t.notKnown}</p>
      )}
      {node.expected_thumbprint && !node.thumbprint ? (
        <>
          <p className="t3 s">{t.expectedPrint}</p>
          <p className="thumb">{thumbprint(node.expected_thumbprint)}</p>
        </>
      ) : null}
      {node.rejected_thumbprint ? (
        <>
          <p className="t3 s">{t.rejectedPrint}</p>
          <p className="thumb old">{thumbprint(node.rejected_thumbprint)}</p>
        </>
      ) : null}
    </section>
  );
}
