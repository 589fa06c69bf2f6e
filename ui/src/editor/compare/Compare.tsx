import { useQuery } from "@tanstack/react-query";
import { Button } from "@/components/Button";
import { ErrorState, Skeletons } from "@/components/States";
import type { VersionsProps } from "@/editor/compare/versionsProps";
import { versionTexts } from "@/editor/compare/versionTexts";
import type { Comparison } from "../pipelineSearch";
import { versionDocument } from "../session/draftApi";
import { ChangeList } from "./ChangeList";
import { versionNumbers } from "./Changes";
import { versionChanges } from "./catalogueCopy";
import { diffLayout } from "./layoutDiff";

const t = versionTexts;

type Props = Pick<VersionsProps, "project" | "drawing" | "onCompare"> & {
  newest: number;
  compare: Comparison;
};

/** What differs between any two versions, or a version and the draft. */
export function Compare({ project, newest, compare, drawing, onCompare }: Props) {
  const { from, to } = compare;
  const all = versionNumbers(newest).map(String);
  return (
    <section className="col gap-3" aria-label={t.comparison}>
      <div className="row wrap">
        <Pick
          label={t.from}
          value={String(from)}
          options={all}
          onPick={(value) => onCompare({ from: Number(value), to })}
        />
        <Pick
          label={t.to}
          value={String(to)}
          options={drawing ? ["draft", ...all] : all}
          onPick={(value) => onCompare({ from, to: value === "draft" ? value : Number(value) })}
        />
        <div className="row end">
          {drawing && to === "draft" ? (
            <Button act={t.onCanvas} small onClick={() => drawing.onCanvas(from)}>
              {t.onCanvas}
            </Button>
          ) : null}
          <Button act={t.all} small onClick={() => onCompare(undefined)}>
            {t.all}
          </Button>
        </div>
      </div>
      <Differences project={project} compare={compare} drawing={drawing} />
    </section>
  );
}

type PickProps = {
  label: string;
  value: string;
  options: string[];
  onPick: (value: string) => void;
};

function Pick({ label, value, options, onPick }: PickProps) {
  const all = options.includes(value) ? options : [value, ...options];
  return (
    <label className="row s">
      {label}
      <select className="sel" value={value} onChange={(event) => onPick(event.target.value)}>
        {all.map((one) => (
          <option key={one} value={one}>
            {one === "draft" ? t.draft : `v${one}`}
          </option>
        ))}
      </select>
    </label>
  );
}

function Differences({ project, compare, drawing }: Omit<Props, "newest" | "onCompare">) {
  const { from, to } = compare;
  const old = useQuery(versionDocument(project, from));
  const published = useQuery({ ...versionDocument(project, Number(to)), enabled: to !== "draft" });
  const now = to === "draft" ? drawing?.doc : published.data;
  const error = old.error ?? published.error;
  if (error)
    return (
      <ErrorState
        what={t.unread}
        error={error}
        retry={() => {
          void old.refetch();
          if (to !== "draft") void published.refetch();
        }}
      />
    );
  if (to === "draft" && !drawing) return <p className="t2">{t.noDraft}</p>;
  if (!old.data || !now) return <Skeletons count={3} height={48} />;
  return <ChangeList changes={versionChanges(old.data, now)} asides={diffLayout(old.data, now)} />;
}
