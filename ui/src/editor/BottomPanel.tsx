import { ChevronDown, ChevronUp } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { BidiSafe } from "@/components/BidiSafe";
import { Button } from "@/components/Button";
import { loadChunk } from "@/components/loadChunk";
import { StatusMark } from "@/components/Status";
import { editorTexts } from "@/editor/editorTexts";
import type { Comparing } from "./compare/useComparison";
import type { Catalogue } from "./model/catalogue";
import type { Doc } from "./model/document";
import type { Problem } from "./model/problems";
import { shortField } from "./model/stepFields";
import { TABS, type Tab } from "./pipelineSearch";
import { SetSecretButton } from "./SetSecretButton";
import type { DryRunResult } from "./session/dryFindings";
import type { DryRuns } from "./session/useDryRun";

const t = editorTexts.panel;

const Changes = lazy(() =>
  loadChunk(() => import("./compare/Changes")).then((one) => ({ default: one.Changes })),
);
const DryRun = lazy(() =>
  loadChunk(() => import("./session/DryRun")).then((one) => ({ default: one.DryRun })),
);
const VersionUsers = lazy(() =>
  loadChunk(() => import("./compare/VersionUsers")).then((one) => ({ default: one.VersionUsers })),
);

export type BottomPanelProps = {
  project: string;
  base: number;
  problems: Problem[];
  asked: "asked" | "asking" | "silent";
  comparing: Comparing;
  tab: Tab;
  onTab: (tab: Tab) => void;
  onCompare: (version: number) => void;
  onShow: (step: string, field?: string) => void;
  doc: Doc;
  catalogue: Catalogue;
  /** The step that is chosen alone. */
  only?: string;
  dry?: DryRunResult;
  runs: DryRuns;
};

/** Under the canvas: what is wrong, what differs, what would happen, and who runs what. */
export function BottomPanel(props: BottomPanelProps) {
  const { problems, comparing, tab, onTab, asked } = props;
  const [open, setOpen] = useState(true);
  const errors = problems.filter((one) => !one.advice).length;
  const changes = comparing.own.changes.length;
  const counts = { problems: problems.length, changes, dryRun: 0, users: 0 };
  return (
    <section className="prob" aria-label={t.label} data-open={open || undefined}>
      <div className="tabs line">
        <div className="tabs line" role="tablist" aria-label={t.label}>
          {TABS.map((one) => (
            <button
              key={one}
              type="button"
              role="tab"
              className="tab"
              aria-selected={tab === one}
              aria-current={tab === one ? "true" : undefined}
              onClick={() => {
                onTab(one);
                setOpen(true);
              }}
            >
              {t[one]} {counts[one] > 0 ? <span className="n">{counts[one]}</span> : null}
            </button>
          ))}
        </div>
        <span className="s t3 end nw hide-m" role="status">
          {asked === "asking" ? t.checking : errors > 0 ? editorTexts.publishWaits(errors) : ""}
        </span>
        <Button
          look="ghost"
          small
          icon
          aria-expanded={open}
          aria-label={open ? t.close : t.open}
          onClick={() => setOpen(!open)}
        >
          {open ? (
            <ChevronDown className="i sm" aria-hidden="true" />
          ) : (
            <ChevronUp className="i sm" aria-hidden="true" />
          )}
        </Button>
      </div>
      {open ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard
        <div className="pbs" role="tabpanel" aria-label={t[tab]} tabIndex={0}>
          {tab === "problems" ? <Problems {...props} /> : null}
          <Suspense>
            {tab === "changes" ? <Changes {...props} /> : null}
            {tab === "dryRun" ? <DryRun {...props} /> : null}
            {tab === "users" ? <VersionUsers project={props.project} /> : null}
          </Suspense>
        </div>
      ) : null}
    </section>
  );
}

type ProblemsProps = Pick<BottomPanelProps, "problems" | "asked" | "onShow">;

/** What is wrong, and the way to each place of it. */
export function Problems({ problems, asked, onShow }: ProblemsProps) {
  return (
    <>
      {asked === "silent" ? (
        <div className="pb one">
          <StatusMark state="unknown">{t.unchecked}</StatusMark>
        </div>
      ) : null}
      {problems.length === 0 && asked === "asked" ? (
        <div className="pb one">
          <StatusMark state="ready">{t.none}</StatusMark>
        </div>
      ) : null}
      {problems.map((one) => (
        <div key={`${one.step} ${one.field} ${one.code} ${one.message}`} className="pb">
          <StatusMark state={one.advice ? "warn" : "failed"}>
            <span className="vh">{one.advice ? t.advice : t.error}</span>
          </StatusMark>
          <span className="tr">
            <b>{one.step ?? t.whole}</b>
            <span className="t3"> › {shortField(one.field)}</span>
          </span>
          <span>
            <BidiSafe text={one.message} />
          </span>
          <span className="row">
            <SetSecretButton problem={one} />
            {one.step ? (
              <Button look="ghost" small onClick={() => onShow(one.step ?? "", one.field)}>
                {t.show}
              </Button>
            ) : null}
          </span>
        </div>
      ))}
    </>
  );
}
