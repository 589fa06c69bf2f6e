import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ChevronDown, ChevronUp } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/Button";
import { ErrorState } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { editorTexts } from "@/editorTexts";
import type { Catalogue } from "./catalogue";
import { type Dry, DryRun } from "./DryRun";
import { versions } from "./door";
import type { StepChange } from "./merge";
import type { Doc } from "./model";
import type { Problem } from "./problems";
import { Shown } from "./values";

const t = editorTexts.panel;
export type BottomTab = "problems" | "changes" | "dryRun" | "users";

export type BottomProps = {
  project: string;
  base: number;
  problems: Problem[];
  asked: "asked" | "asking" | "silent";
  changes: StepChange[];
  tab: BottomTab;
  onTab: (tab: BottomTab) => void;
  onShow: (step: string, field?: string) => void;
  doc: Doc;
  catalogue: Catalogue;
  /** The step that is chosen alone. */
  only?: string;
  dry?: Dry;
  onDryRun: (dry: Dry) => void;
};

/** Under the canvas: what is wrong, what differs, what would happen, and who runs what. */
export function Bottom(props: BottomProps) {
  const { problems, changes, tab, onTab, asked } = props;
  const [open, setOpen] = useState(true);
  const errors = problems.filter((one) => !one.advice).length;
  const counts = { problems: problems.length, changes: changes.length, dryRun: 0, users: 0 };
  return (
    <section className="prob" aria-label={t.label} data-open={open || undefined}>
      <div className="tabs line">
        <div className="tabs line" role="tablist" aria-label={t.label}>
          {(Object.keys(counts) as BottomTab[]).map((one) => (
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
          {tab === "changes" ? <Changes {...props} /> : null}
          {tab === "dryRun" ? <DryRun {...props} /> : null}
          {tab === "users" ? <Users project={props.project} /> : null}
        </div>
      ) : null}
    </section>
  );
}

function Problems({ problems, asked, onShow }: BottomProps) {
  return (
    <>
      {problems.length === 0 && asked !== "asking" ? (
        <div className="pb one">
          <StatusMark state={asked === "silent" ? "unknown" : "ready"}>
            {asked === "silent" ? t.unchecked : t.none}
          </StatusMark>
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
          <span>{one.message}</span>
          {one.step ? (
            <Button look="ghost" small onClick={() => onShow(one.step ?? "", one.field)}>
              {t.show}
            </Button>
          ) : (
            <span />
          )}
        </div>
      ))}
    </>
  );
}

/** service.env.PORT is PORT to whoever looks at its step. */
export function shortField(field: string): string {
  return field.replace(
    /^(service|plugin|approval)\.((env|parameters|secrets|resources)\.)?(?=.)/,
    "",
  );
}

function Changes({ changes, onShow }: BottomProps) {
  if (changes.length === 0) return <p className="t3 p-4">{t.noChanges}</p>;
  return changes.map((one) => (
    <div key={one.key} className="chg">
      <button type="button" className="link" onClick={() => onShow(one.key)}>
        {one.key}
      </button>{" "}
      <span className="chip" data-mark={one.kind}>
        {t[one.kind]}
      </span>
      <Fields fields={one.fields} />
    </div>
  ));
}

export function Fields({ fields }: { fields: StepChange["fields"] }) {
  return (
    <ul>
      {fields.map((field) => (
        <li key={field.path}>
          <span className="t2">{shortField(field.path)}</span>
          <del>
            <Shown value={field.old} />
          </del>
          <span aria-hidden="true">→</span>
          <ins>
            <Shown value={field.now} />
          </ins>
        </li>
      ))}
    </ul>
  );
}

function Users({ project }: { project: string }) {
  const query = useQuery(versions(project));
  if (query.isError)
    return (
      <ErrorState
        what={editorTexts.past.unread}
        error={query.error}
        retry={() => void query.refetch()}
      />
    );
  const used = (query.data?.items ?? []).filter((one) => (one.used_by ?? []).length > 0);
  if (query.data && used.length === 0) return <p className="t3 p-4">{t.nobody}</p>;
  return used.map((one) => (
    <div key={one.version} className="chg row wrap">
      <b>{t.runs(one.version)}</b>
      {(one.used_by ?? []).map((user) => (
        <Link
          key={user.id}
          className="link"
          to="/d/$id/{-$tab}"
          params={{ id: user.id, tab: undefined }}
          search={{}}
        >
          {user.environment}/{user.name}
        </Link>
      ))}
    </div>
  ));
}
