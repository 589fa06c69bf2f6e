import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Fragment, useId } from "react";
import type { Step as RunStep } from "@/api/client";
import { BidiSafe } from "@/components/BidiSafe";
import { Button } from "@/components/Button";
import { StatusMark } from "@/components/Status";
import { elapsedBetween, formatDuration } from "@/components/time";
import type { Catalogue, Port } from "../model/catalogue";
import { type Doc, kindOf, type Step } from "../model/document";
import { canPin, pinnedFields, stepsBefore, typedOutputs } from "../model/pins";
import { hasSameRun } from "./dryFindings";
import { dryTexts, runHereTexts } from "./dryTexts";
import { lastOutputs, removeScratch } from "./scratchBody";
import type { DryRuns } from "./useDryRun";

const t = runHereTexts;

type Props = { project: string; doc: Doc; catalogue: Catalogue; runs: DryRuns };

/** What runs before the chosen step: each step, or the outputs that are given in its place. */
export function Before({ project, doc, catalogue, runs, only }: Props & { only: string }) {
  const before = stepsBefore(doc, only, runs.pins);
  if (before.length === 0) return null;
  return (
    <fieldset className="runbefore">
      <legend className="s t2">{t.before(only)}</legend>
      {before.map((step) => (
        <div key={step.key} className="rb">
          <b className="tr mono">{step.key}</b>
          {canPin(step) ? (
            <Pinning {...{ project, doc, catalogue, runs, step }} />
          ) : (
            <span className="t2">{t.runs(t.kinds[kindOf(step)] ?? "")}</span>
          )}
        </div>
      ))}
    </fieldset>
  );
}

/** Whether a step runs, or its outputs are given; those of the last run are filled in. */
function Pinning({ project, doc, catalogue, runs, step }: Props & { step: Step }) {
  const { pins, pin, scratchRun } = runs;
  const typed = pins.get(step.key);
  const begin = async () => {
    pin(step.key, {});
    const known = scratchRun.steps.get(step.key)?.outputs ?? (await readQuietly(project, step.key));
    pin(step.key, typedOutputs(known));
  };
  return (
    <div className="col gap-1">
      <label className="row">
        <input
          type="checkbox"
          checked={typed !== undefined}
          onChange={(event) => (event.target.checked ? void begin() : pin(step.key, undefined))}
        />
        {t.pin(step.key)}
      </label>
      {typed
        ? pinnedFields(doc, step, catalogue).map((port) => (
            <Output
              key={port.name}
              port={port}
              secrets={catalogue.secrets}
              value={typed[port.name] ?? ""}
              set={(text) => pin(step.key, { ...typed, [port.name]: text })}
            />
          ))
        : null}
    </div>
  );
}

/** The values of the last run are an offer: without them the fields are empty. */
function readQuietly(project: string, key: string) {
  return lastOutputs(project, key).catch(() => undefined);
}

type OutputProps = {
  port: Port;
  secrets: string[];
  value: string;
  set: (text: string) => void;
};

/** One given output. A secret one is a secret of the project: nothing secret is typed here. */
function Output({ port, secrets, value, set }: OutputProps) {
  const id = useId();
  return (
    <div className="row">
      <label className="s mono tr rbn" htmlFor={id}>
        {port.label}
      </label>
      {port.type === "secret" ? (
        <select id={id} className="sel" value={value} onChange={(event) => set(event.target.value)}>
          <option value="">{t.chooseSecret}</option>
          {secrets.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      ) : (
        <span className="in grow">
          <input
            id={id}
            className="mono"
            autoComplete="off"
            spellCheck={false}
            value={value}
            onChange={(event) => set(event.target.value)}
          />
        </span>
      )}
    </div>
  );
}

/** The scratch deployment: how far it is, what came of each step, and its end. */
export function Results({ doc, runs }: Pick<Props, "doc" | "runs">) {
  const { branch, scratchRun, pins, pin } = runs;
  const { deployment, steps } = scratchRun;
  const cache = useQueryClient();
  const remove = useMutation({
    mutationFn: removeScratch,
    onSuccess: (_, id) => cache.invalidateQueries({ queryKey: ["deployment", id] }),
  });
  if (!deployment) return null;
  const { id, name, status } = deployment;
  const stale = branch.variables && !hasSameRun(branch.variables.doc, doc);
  return (
    <section aria-label={t.results} className="flex flex-col gap-1">
      <p role="status" className="row wrap">
        {dryTexts.started}
        <Link className="link" to="/d/$id/{-$tab}" params={{ id, tab: "run" }} search={{}}>
          {name}
        </Link>
        <StatusMark state={status} />
        {stale ? <span className="t2">{t.stale}</span> : null}
        {canRemove(status) ? (
          <Button small busy={remove.isPending && t.removing} onClick={() => remove.mutate(id)}>
            {t.remove}
          </Button>
        ) : null}
        <span className="t3 s">{t.lifetime}</span>
      </p>
      {[...steps.values()].map((step) => (
        <Result
          key={step.key}
          step={step}
          pin={
            step.outputs && !pins.has(step.key) && doc.steps.some((one) => one.key === step.key)
              ? () => pin(step.key, typedOutputs(step.outputs))
              : undefined
          }
        />
      ))}
    </section>
  );
}

function canRemove(status: string): boolean {
  return !["undoing", "removing", "removed", "canceled", "forgotten"].includes(status);
}

/** What came of one step: its state, how long it took, why it failed, what it gave. */
function Result({ step, pin }: { step: RunStep; pin?: () => void }) {
  const outputs = Object.entries(step.outputs ?? {});
  const took = step.ended_at ? formatDuration(elapsedBetween(step.started_at, step.ended_at)) : "";
  return (
    <div className="rb">
      <b className="tr mono">{step.key}</b>
      <div className="col gap-1">
        <span className="row wrap">
          <StatusMark state={step.status} small />
          {took ? <span className="t3">{took}</span> : null}
          {step.title === "pinned" ? <span className="chip out">{t.pinned}</span> : null}
          {step.message ? <BidiSafe text={step.message} /> : null}
          {pin && outputs.length > 0 ? (
            <Button look="ghost" small aria-label={t.keep(step.key)} onClick={pin}>
              {t.keepShort}
            </Button>
          ) : null}
        </span>
        {outputs.length > 0 ? (
          <dl className="rbo mono s">
            {outputs.map(([name, value]) => (
              <Fragment key={name}>
                <dt className="t3">{name}</dt>
                <dd>
                  <BidiSafe text={typeof value === "string" ? value : JSON.stringify(value)} />
                </dd>
              </Fragment>
            ))}
          </dl>
        ) : null}
      </div>
    </div>
  );
}
