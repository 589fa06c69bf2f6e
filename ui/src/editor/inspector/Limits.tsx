import type { ReactNode } from "react";
import { editorTexts } from "@/editor/editorTexts";
import { componentOf } from "../model/catalogue";
import { containerOf, containerPath, JOB_SECONDS } from "../model/document";
import { referenceOptions } from "../model/referenceOptions";
import { ChoiceInput, LinesInput, Shell } from "./fields";
import { Process } from "./Process";
import { SmallInput, type StepFormProps } from "./records";
import { NumberInput } from "./TextInput";

const t = editorTexts.step;

/** How much a step may take, and how it runs. */
export function LimitsForm(props: StepFormProps) {
  const { step, problems, onChange, catalogue } = props;
  const container = containerOf(step);
  const kind = container ? containerPath(step) : "plugin";
  const own = (container ?? step.plugin)?.resources;
  const component = componentOf(step, catalogue);
  const number = (label: string, path: string, value: unknown, standard?: number): ReactNode => (
    <Shell label={label} path={path} problems={problems}>
      {(id, described, wrong) => (
        <NumberInput
          id={id}
          described={described}
          wrong={wrong}
          label={label}
          placeholder={standard ? String(standard) : undefined}
          value={value}
          onChange={(next) => onChange(path, next)}
        />
      )}
    </Shell>
  );
  return (
    <>
      {number(t.cpu, `${kind}.resources.cpu`, own?.cpu, component?.resources?.cpu)}
      {number(
        t.memory,
        `${kind}.resources.memory_mib`,
        own?.memory_mib,
        component?.resources?.memory_mib,
      )}
      {step.plugin
        ? number(
            t.timeout,
            "plugin.timeout_seconds",
            step.plugin.timeout_seconds,
            component?.timeout_seconds ?? 300,
          )
        : null}
      {step.job
        ? number(t.timeout, "job.timeout_seconds", step.job.timeout_seconds, JOB_SECONDS)
        : null}
      <p className="hint">{t.limitHint}</p>
      {step.plugin ? (
        <Shell label={t.network} path="plugin.network" hint={t.networkHint} problems={problems}>
          {(id, described) => (
            <ChoiceInput
              id={id}
              described={described}
              value={step.plugin?.network === undefined ? "" : String(step.plugin.network)}
              options={[
                { value: "", label: component?.network ? t.yes : t.no },
                { value: "true", label: t.yes },
                { value: "false", label: t.no },
              ]}
              onChange={(next) =>
                onChange("plugin.network", next === "" ? undefined : next === "true")
              }
            />
          )}
        </Shell>
      ) : null}
      {step.service ? (
        <Shell label={t.restart} path="service.restart" problems={problems}>
          {(id, described) => (
            <ChoiceInput
              id={id}
              described={described}
              value={step.service?.restart ?? "always"}
              options={Object.entries(t.restarts).map(([value, label]) => ({ value, label }))}
              onChange={(next) => onChange("service.restart", next === "always" ? undefined : next)}
            />
          )}
        </Shell>
      ) : null}
      {container ? <Gpus {...props} /> : null}
      {container ? <Command {...props} /> : null}
      {container ? <Process {...props} /> : null}
    </>
  );
}

/** Arguments are lines: a reference is one of its own. */
function Command({ step, doc, catalogue, problems, onChange }: StepFormProps) {
  const path = `${containerPath(step)}.command`;
  const command = containerOf(step)?.command;
  return (
    <Shell
      label={t.command}
      path={path}
      hint={t.commandHint}
      problems={problems}
      offers={() => referenceOptions(doc, catalogue, step, "any", path)}
      onRefer={(text) => onChange(path, [...(command ?? []), text])}
    >
      {(id, described) => (
        <LinesInput
          id={id}
          described={described}
          value={command}
          onChange={(next) => onChange(path, next)}
        />
      )}
    </Shell>
  );
}

/** Any so many of the node's, or certain ones. */
function Gpus({ step, problems, onChange }: StepFormProps) {
  const path = `${containerPath(step)}.gpus`;
  const gpus = containerOf(step)?.gpus;
  const kind = gpus === undefined ? "none" : gpus.device_ids ? "ids" : "count";
  const fresh = { none: undefined, count: { count: 1 }, ids: { device_ids: ["0"] } };
  return (
    <Shell label={t.gpus} path={path} problems={problems}>
      {(id, described) => (
        <div className="recs">
          <ChoiceInput
            id={id}
            described={described}
            value={kind}
            options={Object.entries(t.gpuKinds).map(([value, label]) => ({ value, label }))}
            onChange={(next) => onChange(path, fresh[next as keyof typeof fresh])}
          />
          {kind === "count" ? (
            <SmallInput
              label={t.gpuCount}
              value={String(gpus?.count || "")}
              onChange={(text) =>
                onChange(path, { ...gpus, count: Number.parseInt(text, 10) || 0 })
              }
            />
          ) : null}
          {kind === "ids" ? (
            <div className="col">
              <label className="hint" htmlFor={`${id}-ids`}>
                {t.gpuIds}
              </label>
              <LinesInput
                id={`${id}-ids`}
                value={gpus?.device_ids}
                onChange={(next) => onChange(path, { ...gpus, device_ids: next ?? [] })}
              />
            </div>
          ) : null}
          {gpus ? (
            <SmallInput
              label={t.gpuMemory}
              value={String(gpus.vram_mib || "")}
              onChange={(text) =>
                onChange(path, { ...gpus, vram_mib: Number.parseInt(text, 10) || undefined })
              }
            />
          ) : null}
        </div>
      )}
    </Shell>
  );
}
