import { X } from "lucide-react";
import { lazy, memo, Suspense, useEffect, useState } from "react";
import { Button } from "@/components/Button";
import { CopyButton } from "@/components/Copy";
import { loadChunk } from "@/components/loadChunk";
import { Skeletons } from "@/components/States";
import { editorTexts } from "@/editor/editorTexts";
import { PortShape } from "../canvas/canvasNodes";
import { tabOfField } from "../canvas/connections";
import {
  componentOf,
  describeKind,
  nameOf,
  orderOf,
  outputsOf,
  type PortType,
} from "../model/catalogue";
import { containerOf, type Step } from "../model/document";
import { isKey, refTo } from "../model/edit";
import { formatExpression, refText } from "../model/expressions";
import { isAt } from "../model/problems";
import { referenceOptions } from "../model/referenceOptions";
import { insertReference } from "../model/references";
import { ApprovalSettings } from "./ApprovalSettings";
import { EnvironmentTab } from "./EnvironmentTab";
import { FieldProblems, Shell, TextInput } from "./fields";
import type { InspectorPartProps } from "./inspectorProps";
import { LimitsForm } from "./Limits";
import { Pick } from "./ReferencePicker";
import { ServiceSettings } from "./ServiceSettings";

const ScriptSettings = lazy(() => loadChunk(() => import("./ScriptSettings")));
const PluginForm = lazy(() => loadChunk(() => import("./PluginForm")));
const t = editorTexts.step;
type Tab = keyof typeof t.tabs;

type InspectorProps = InspectorPartProps & { turn: number; step?: Step; count: number };

/** The selected step: its fields, limits, outputs, and a service's environment. */
export const Inspector = memo(function Inspector(props: InspectorProps) {
  const { step, count } = props;
  if (!step)
    return (
      <aside className="insp" aria-label={editorTexts.step.none}>
        <div className="ib t3">
          {count > 1 ? (
            <>
              <b>{t.many(count)}</b>
              <span>{t.manyHint}</span>
            </>
          ) : (
            <>
              <span>{t.none}</span>
              <span className="s">{editorTexts.canvasHint}</span>
            </>
          )}
        </div>
      </aside>
    );
  // Not keyed by name: the user can keep typing when the step is renamed.
  return <Chosen key={props.turn} {...props} step={step} />;
});

function Chosen(props: InspectorPartProps & { step: Step }) {
  const { step, doc, problems } = props;
  const [tab, setTab] = useState<Tab>("settings");
  const tabs: Tab[] =
    step.approval || step.script
      ? ["settings", "outputs"]
      : step.service
        ? ["settings", "limits", "environment", "outputs"]
        : step.job
          ? ["settings", "limits", "environment"]
          : ["settings", "limits", "outputs"];
  const order = orderOf(doc);
  const errors = (tab: Tab) =>
    problems.filter((one) => !one.advice && tabOfField(one.field) === tab).length;
  return (
    <aside className="insp" aria-label={step.key}>
      <div className="ih">
        <h2>{step.key}</h2>
        <span className="s t3">
          {describeKind(step)} · {editorTexts.order(order.indexOf(step.key) + 1, order.length)}
        </span>
      </div>
      <div className="tabs line" role="tablist" aria-label={step.key}>
        {tabs.map((one) => (
          <button
            key={one}
            type="button"
            role="tab"
            className="tab"
            data-tab={one}
            aria-selected={tab === one}
            aria-current={tab === one ? "true" : undefined}
            onClick={() => setTab(one)}
          >
            {t.tabs[one]}
            {errors(one) > 0 ? (
              <span className="bdg" data-st="failed">
                {errors(one)}
              </span>
            ) : null}
          </button>
        ))}
      </div>
      <div className="ib" role="tabpanel" aria-label={t.tabs[tab]}>
        {tab === "settings" ? <Settings {...props} /> : null}
        {tab === "limits" ? <LimitsForm {...props} /> : null}
        {tab === "environment" ? <EnvironmentTab {...props} /> : null}
        {tab === "outputs" ? <Outputs {...props} /> : null}
      </div>
    </aside>
  );
}

function Settings(props: InspectorPartProps & { step: Step }) {
  const { step } = props;
  return (
    <>
      <Key {...props} />
      {containerOf(step) ? <ServiceSettings {...props} /> : null}
      {step.plugin ? <PluginSettings {...props} /> : null}
      {step.approval ? <ApprovalSettings {...props} /> : null}
      {step.script ? (
        <Suspense fallback={<Skeletons count={3} height={52} />}>
          <ScriptSettings {...props} />
        </Suspense>
      ) : null}
      <Needs {...props} />
    </>
  );
}

/** The name is taken when the field is left: every reference to the step goes along. */
function Key({ step, doc, problems, onRename }: InspectorPartProps & { step: Step }) {
  const [text, setText] = useState(step.key);
  useEffect(() => setText(step.key), [step.key]);
  const taken = text !== step.key && doc.steps.some((one) => one.key === text);
  const why = taken ? t.keyTaken : isKey(text) ? "" : editorTexts.problem.key;
  const own = why
    ? [...problems, { field: "key", code: "key", message: why, step: step.key }]
    : problems;
  const leave = () => {
    if (!why && text !== step.key) onRename(step.key, text);
  };
  return (
    <Shell label={t.key} path="key" hint={t.keyHint} problems={own}>
      {(id, described, wrong) => (
        <div className={`in ${wrong ? "err" : ""}`}>
          <input
            id={id}
            className="mono"
            value={text}
            maxLength={40}
            spellCheck={false}
            autoComplete="off"
            aria-describedby={described}
            aria-invalid={wrong ? true : undefined}
            onChange={(event) => setText(event.target.value)}
            onBlur={leave}
            onKeyDown={(event) => {
              if (event.key === "Enter") leave();
              // Escape leads out of the inspector, and takes no half a name along.
              if (event.key === "Escape") setText(step.key);
            }}
          />
        </div>
      )}
    </Shell>
  );
}

function Needs({ step, doc, problems, onNeed, onLetGo }: InspectorPartProps & { step: Step }) {
  const needs = step.needs ?? [];
  const others = () => doc.steps.filter((one) => one.key !== step.key && !needs.includes(one.key));
  return (
    <section className="f" data-field="needs" aria-label={t.needs}>
      <h3>{t.needs}</h3>
      {needs.length === 0 ? <span className="t3 s">{t.needsNone}</span> : null}
      {needs.map((need) => (
        <div key={need} className="row">
          <span className="mono tr">{need}</span>
          <Button
            look="ghost"
            small
            icon
            className="end"
            aria-label={t.removeNeed(need)}
            onClick={() => onLetGo(need, step.key)}
          >
            <X className="i sm" aria-hidden="true" />
          </Button>
        </div>
      ))}
      <FieldProblems problems={problems.filter((one) => isAt(one.field, "needs"))} />
      <Pick
        className="sel"
        connect
        label={t.addNeed}
        first={t.addNeed}
        onChoose={(from) => onNeed(from, step.key)}
      >
        {() => others().map((one) => <option key={one.key}>{one.key}</option>)}
      </Pick>
    </section>
  );
}

function PluginSettings(props: InspectorPartProps & { step: Step }) {
  const { step, catalogue, problems, onChange, doc } = props;
  const component = componentOf(step, catalogue);
  if (!component) return <p className="t3">{t.noComponent(nameOf(step))}</p>;
  const offersFor = (type: PortType, path: string) =>
    referenceOptions(doc, catalogue, step, type, path);
  return (
    <>
      {component.description ? <p className="t2 s">{component.description}</p> : null}
      {(component.secrets ?? []).map((secret) => {
        const path = `plugin.secrets.${secret.name}`;
        const value = step.plugin?.secrets?.[secret.name] ?? "";
        return (
          <Shell
            key={secret.name}
            label={secret.name}
            path={path}
            type="secret"
            hint={secret.description ?? t.secretShown}
            required={secret.required}
            problems={problems}
            offers={() => offersFor("secret", path)}
            onRefer={(chosen, at) => onChange(path, insertReference(value, chosen, at))}
          >
            {(id, described, wrong) => (
              <TextInput
                id={id}
                described={described}
                wrong={wrong}
                label={secret.name}
                mono
                placeholder={formatExpression({ scope: "secrets", name: "NAME" })}
                value={value}
                onChange={(text) => onChange(path, text)}
              />
            )}
          </Shell>
        );
      })}
      <Suspense fallback={<Skeletons count={3} height={52} />}>
        <PluginForm
          schema={component.parameters as Record<string, unknown> | undefined}
          values={(step.plugin?.parameters ?? {}) as Record<string, unknown>}
          problems={problems}
          offersFor={offersFor}
          onChange={onChange}
          unread={{ of: props.unread, step: step.key }}
        />
      </Suspense>
      <p className="und">{component.actions?.includes("delete") ? t.canUndo : t.noUndo}</p>
    </>
  );
}

function Outputs({ step, doc, catalogue }: InspectorPartProps & { step: Step }) {
  const ports = outputsOf(step, catalogue);
  if (ports.length === 0) return <p className="t3">{t.noOutputs}</p>;
  return (
    <>
      <p className="hint">{t.outputs}</p>
      {ports.map((port) => {
        const ref = refTo(doc, step.key, port.name);
        return (
          <div key={port.name} className="row">
            <PortShape type={port.type} />
            <span className="tr">{port.label}</span>
            <span className="t3 s end">{editorTexts.problem.types[port.type]}</span>
            <CopyButton text={formatExpression(ref)} what={refText(ref)} />
          </div>
        );
      })}
    </>
  );
}
