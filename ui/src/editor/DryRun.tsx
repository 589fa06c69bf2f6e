import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { environments } from "@/api/queries/catalog";
import { Button } from "@/components/Button";
import { ErrorState } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { editorTexts } from "@/editorTexts";
import type { Catalogue } from "./catalogue";
import { type Doc, pipelineOf } from "./model";
import type { Problem } from "./problems";

const d = editorTexts.dry;
type Check = Schemas["PreflightCheck"];

/** What a dry run of one drawing found. It says nothing of another drawing. */
export type Dry = { doc: Doc; problems: Problem[]; passed: Set<string> };

export type DryRunProps = {
  project: string;
  base: number;
  doc: Doc;
  catalogue: Catalogue;
  only?: string;
  dry?: Dry;
  onShow: (step: string, field?: string) => void;
  onDryRun: (dry: Dry) => void;
};

/** The same checks as creating makes, of what is drawn now. And a branch of it, run for real. */
export function DryRun({ project, base, doc, catalogue, only, dry, ...on }: DryRunProps) {
  const all = useQuery(environments).data ?? [];
  const [chosen, setChosen] = useState<string>();
  const environment = chosen ?? all[0]?.name;
  const scratch = async (name: string, step?: string): Promise<Schemas["Scratch"]> => ({
    name,
    environment: environment ?? "",
    pipeline: pipelineOf(doc),
    versions: await newest(doc, catalogue),
    steps: step ? [step] : undefined,
  });
  const check = useMutation({
    mutationFn: async () =>
      ask(
        client.POST("/api/v1/projects/{name}/pipeline/preflight", {
          params: { path: { name: project } },
          body: await scratch("dry-run"),
        }),
      ),
    onSuccess: (answer) => on.onDryRun(found(doc, answer.checks)),
  });
  const branch = useMutation({
    mutationFn: async (step: string) =>
      ask(
        client.POST("/api/v1/projects/{name}/pipeline/scratch", {
          params: { path: { name: project } },
          body: await scratch(scratchName(step), step),
        }),
      ),
  });
  const whyNot = environment ? undefined : d.none;
  return (
    <div className="p-4 flex flex-col gap-2">
      <div className="row wrap">
        <label className="row s">
          {d.environment}
          <select
            className="sel"
            value={environment ?? ""}
            onChange={(event) => setChosen(event.target.value)}
          >
            {all.map((one) => (
              <option key={one.name}>{one.name}</option>
            ))}
          </select>
        </label>
        <Button
          small
          reason={doc.steps.length === 0 ? d.emptyDraft : whyNot}
          busy={check.isPending && d.busy}
          onClick={() => check.mutate()}
        >
          {d.run}
        </Button>
        <Button
          small
          reason={branchReason(base, only) ?? whyNot}
          busy={branch.isPending && d.starting}
          onClick={() => only && branch.mutate(only)}
        >
          {only ? d.branchOf(only) : d.branch}
        </Button>
        <span className="t3 s">{d.hint}</span>
      </div>
      {branch.data ? (
        <p role="status">
          {d.started}{" "}
          <Link
            className="link"
            to="/d/$id/{-$tab}"
            params={{ id: branch.data.id, tab: "run" }}
            search={{}}
          >
            {branch.data.name}
          </Link>
        </p>
      ) : null}
      {branch.isError ? (
        <ErrorState
          what={d.branchRefused}
          error={branch.error}
          retry={() => only && branch.mutate(only)}
        />
      ) : null}
      {check.isError ? (
        <ErrorState what={d.run} error={check.error} retry={() => check.mutate()} />
      ) : null}
      {check.data && dry?.doc === doc ? (
        <Checks checks={check.data.checks} onShow={on.onShow} />
      ) : null}
      {check.data && dry?.doc !== doc && !check.isPending ? (
        <p className="t3" role="status">
          {d.stale}
        </p>
      ) : null}
    </div>
  );
}

function branchReason(base: number, only?: string): string | undefined {
  if (base === 0) return d.unpublished;
  return only ? undefined : d.branchChoose;
}

function scratchName(step: string): string {
  return `scratch-${step.slice(0, 20).replace(/-+$/, "")}-${Date.now().toString(36)}`;
}

/** The newest tag of each service whose version people choose. */
async function newest(doc: Doc, catalogue: Catalogue): Promise<Record<string, string>> {
  const versions: Record<string, string> = {};
  for (const { key, service } of doc.steps) {
    const known = service && catalogue.services.get(service.name);
    if (known?.tag_mode !== "selectable") continue;
    const list = await ask(
      client.GET("/api/v1/services/{name}/tags", {
        params: { path: { name: known.name }, query: { limit: 1 } },
      }),
    );
    const tag = known.tag ?? list.default ?? list.items[0]?.tag;
    if (tag) versions[key] = tag;
  }
  return versions;
}

function found(doc: Doc, checks: Check[]): Dry {
  const problems = checks
    .filter((check) => check.state === "failed")
    .map((check) => ({
      step: check.subject,
      field: (check.field ?? check.id).replace(/^pipeline\./, ""),
      code: check.code ?? check.id,
      message: [check.message, check.remedy].filter(Boolean).join(" "),
    }));
  const wrong = new Set(problems.map((one) => one.step));
  const passed = doc.steps.map((one) => one.key).filter((key) => !wrong.has(key));
  return { doc, problems, passed: new Set(passed) };
}

function Checks({ checks, onShow }: { checks: Check[]; onShow: DryRunProps["onShow"] }) {
  const failed = checks.filter((check) => check.state === "failed").length;
  const sorted = [...checks].sort((a, b) => rank(a) - rank(b));
  return (
    <>
      <p role="status">
        <StatusMark state={failed > 0 ? "failed" : "ready"}>
          {failed > 0 ? d.notOk(failed) : d.ok}
        </StatusMark>
      </p>
      {sorted.map((check) => (
        <div key={`${check.id} ${check.subject} ${check.message}`} className="pb">
          <StatusMark state={markOf(check)}>
            <span className="vh">{d.state[check.state]}</span>
          </StatusMark>
          <span className="tr">
            <b>{check.subject ?? check.id}</b>
          </span>
          <span>
            {check.message} <span className="t2">{check.remedy}</span>
          </span>
          {check.subject && check.state === "failed" ? (
            <Button look="ghost" small onClick={() => onShow(check.subject ?? "")}>
              {editorTexts.panel.show}
            </Button>
          ) : (
            <span />
          )}
        </div>
      ))}
    </>
  );
}

function rank(check: Check): number {
  return ["failed", "unknown", "ok"].indexOf(check.state);
}

function markOf(check: Check): string {
  if (check.state === "failed") return "failed";
  return check.state === "ok" ? "ready" : "unknown";
}
