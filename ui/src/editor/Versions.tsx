import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { Sheet } from "@/components/Overlay";
import { EmptyState, ErrorState, Skeletons } from "@/components/States";
import { Time } from "@/components/Time";
import { useToast } from "@/components/Toast";
import { editorTexts } from "@/editorTexts";
import { Fields } from "./Bottom";
import { versions } from "./door";
import { changesOf } from "./merge";
import { type Doc, docOf, emptyDoc } from "./model";

const t = editorTexts.past;

type Props = {
  project: string;
  onClose: () => void;
  onRestored: () => void;
  onOpen: (doc: Doc) => void;
};

/** Every version that was published: what it changed, who runs it, and the way back to it. */
export function Versions({ project, onClose, onRestored, onOpen }: Props) {
  const query = useQuery(versions(project));
  const items = query.data?.items ?? [];
  return (
    <Sheet open onClose={onClose} title={t.title(project)}>
      <div className="form">
        {query.isError ? (
          <ErrorState what={t.unread} error={query.error} retry={() => void query.refetch()} />
        ) : null}
        {query.isPending ? <Skeletons count={5} height={48} /> : null}
        {query.data && items.length === 0 ? (
          <EmptyState title={editorTexts.publishSame}>{editorTexts.empty}</EmptyState>
        ) : null}
        {items.map((one, i) => (
          <Entry
            key={one.version}
            project={project}
            version={one}
            before={items[i + 1]}
            current={i === 0}
            onRestored={() => {
              void query.refetch();
              onRestored();
            }}
            onOpen={() => onOpen(docOf(one.pipeline))}
          />
        ))}
      </div>
    </Sheet>
  );
}

type EntryProps = {
  project: string;
  version: Schemas["PipelineVersion"];
  before?: Schemas["PipelineVersion"];
  current: boolean;
  onRestored: () => void;
  onOpen: () => void;
};

function Entry({ project, version, before, current, onRestored, onOpen }: EntryProps) {
  const [open, setOpen] = useState(current);
  const say = useToast();
  const restore = useMutation({
    mutationFn: () =>
      ask(
        client.POST("/api/v1/projects/{name}/pipeline/versions/{version}/restore", {
          params: { path: { name: project, version: version.version } },
        }),
      ),
    onSuccess: (made) => {
      say("done", t.restored(version.version, made.version));
      onRestored();
    },
    onError: (error) => say("failed", editorTexts.refused(error.message)),
  });
  const changes = changesOf(before ? docOf(before.pipeline) : emptyDoc, docOf(version.pipeline));
  const used = version.used_by?.length ?? 0;
  return (
    <section className="ver" aria-label={`v${version.version}`}>
      <div className="row wrap">
        <b>v{version.version}</b>
        {current ? <span className="chip">{t.current}</span> : null}
        <span className="t3">
          <Time at={version.created_at} /> {t.by} {version.created_by}
        </span>
        {used > 0 ? <span className="t3">{t.usedBy(used)}</span> : null}
        <div className="row end">
          <Button small aria-expanded={open} onClick={() => setOpen(!open)}>
            {t.compare}
          </Button>
          {current ? null : (
            <>
              <Button small title={t.openHint} onClick={onOpen}>
                {t.open}
              </Button>
              <Button
                small
                title={t.restoreHint}
                busy={restore.isPending && t.restoring}
                onClick={() => restore.mutate()}
              >
                {t.restore}
              </Button>
            </>
          )}
        </div>
      </div>
      {version.note ? <p className="t2">{version.note}</p> : null}
      {open ? (
        changes.length === 0 ? (
          <p className="t3">{t.nothing}</p>
        ) : (
          changes.map((one) => (
            <div key={one.key} className="chg">
              <b>{one.key}</b>{" "}
              <span className="chip" data-mark={one.kind}>
                {editorTexts.panel[one.kind]}
              </span>
              <Fields fields={one.fields} />
            </div>
          ))
        )
      ) : null}
    </section>
  );
}
