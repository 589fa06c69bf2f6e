import { KeyRound } from "lucide-react";
import { useContext } from "react";
import { ApiError, type Schemas } from "@/api/client";
import { BidiSafe } from "@/components/BidiSafe";
import { Button } from "@/components/Button";
import { StatusMark } from "@/components/Status";
import { editorTexts } from "@/editor/editorTexts";
import { SecretActs } from "@/editor/secretActs";
import { secretTexts } from "@/forms/secretTexts";
import { type DryRunResult, stepsOf } from "./dryFindings";
import { dryTexts } from "./dryTexts";

const d = dryTexts;
type Check = Schemas["PreflightCheck"];

export function Checks({
  dry,
  onShow,
}: {
  dry: DryRunResult;
  onShow: (key: string, field?: string) => void;
}) {
  const failed = dry.checks.filter((check) => check.state === "failed").length;
  const sorted = [...dry.checks].sort((a, b) => rank(a) - rank(b));
  return (
    <>
      <p role="status">
        <StatusMark state={failed > 0 ? "failed" : "ready"}>
          {failed > 0 ? d.notOk(failed) : d.ok}
        </StatusMark>
      </p>
      {sorted.map((check) => (
        <Line
          key={`${check.id} ${check.subject} ${check.message}`}
          check={check}
          step={stepsOf(check, dry.doc)[0]}
          onShow={onShow}
        />
      ))}
    </>
  );
}

type LineProps = { check: Check; step?: string; onShow: (key: string, field?: string) => void };

function Line({ check, step, onShow }: LineProps) {
  return (
    <div className="pb">
      <StatusMark state={markOf(check)}>
        <span className="vh">{d.state[check.state]}</span>
      </StatusMark>
      <span className="tr">
        <b>{check.subject ?? check.id}</b>
      </span>
      <span>
        <BidiSafe text={check.message} /> <span className="t2">{check.remedy}</span>
      </span>
      {check.state === "failed" ? (
        <span className="row">
          {check.id === "secret" && check.subject ? <SetOne name={check.subject} /> : null}
          {step ? (
            <Button look="ghost" small onClick={() => onShow(step)}>
              {editorTexts.panel.show}
            </Button>
          ) : null}
        </span>
      ) : (
        <span />
      )}
    </div>
  );
}

function SetOne({ name }: { name: string }) {
  const acts = useContext(SecretActs);
  return (
    <Button small onClick={() => acts.set(name)}>
      <KeyRound className="i sm" aria-hidden="true" /> {secretTexts.set(name)}
    </Button>
  );
}

/** Sets the secret without which a request was refused. */
export function SetMissing({ error }: { error: unknown }) {
  if (!(error instanceof ApiError) || error.problem.code !== "secret_missing") return null;
  const name = error.problem.field?.replace(/^secrets\./, "");
  return name ? <SetOne name={name} /> : null;
}

function rank(check: Check): number {
  return ["failed", "unknown", "ok"].indexOf(check.state);
}

function markOf(check: Check): string {
  if (check.state === "failed") return "failed";
  return check.state === "ok" ? "ready" : "unknown";
}
