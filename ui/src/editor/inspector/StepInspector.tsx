import { lazy, type ReactNode, Suspense, useState } from "react";
import { loadChunk } from "@/components/loadChunk";
import { Skeletons } from "@/components/States";
import { editorTexts } from "@/editor/editorTexts";
import { tabOfField } from "../canvas/connections";
import { describeKind, orderOf } from "../model/catalogue";
import { containerOf, type Step } from "../model/document";
import { EnvironmentTab } from "./EnvironmentTab";
import type { InspectorPartProps } from "./inspectorProps";
import { LimitsForm } from "./Limits";
import { Needs } from "./Needs";
import { Outputs } from "./Outputs";
import { PluginSettings } from "./PluginSettings";
import { ServiceSettings } from "./ServiceSettings";
import { Key } from "./StepName";

const ApprovalSettings = lazy(() =>
  loadChunk(() => import("./ApprovalSettings")).then((one) => ({ default: one.ApprovalSettings })),
);
const ScriptSettings = lazy(() => loadChunk(() => import("./ScriptSettings")));
const t = editorTexts.step;
type Tab = keyof typeof t.tabs;

/** The chosen step: its fields, limits, outputs, and a service's environment. */
export default function Chosen(props: InspectorPartProps & { step: Step }) {
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

const Later = ({ children }: { children: ReactNode }) => (
  <Suspense fallback={<Skeletons count={3} height={52} />}>{children}</Suspense>
);

function Settings(props: InspectorPartProps & { step: Step }) {
  const { step } = props;
  return (
    <>
      <Key {...props} />
      {containerOf(step) ? <ServiceSettings {...props} /> : null}
      {step.plugin ? <PluginSettings {...props} /> : null}
      <Later>
        {step.approval ? <ApprovalSettings {...props} /> : null}
        {step.script ? <ScriptSettings {...props} /> : null}
      </Later>
      <Needs {...props} />
    </>
  );
}
