import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { BidiSafe } from "@/components/BidiSafe";
import { Button } from "@/components/Button";
import { Time } from "@/components/Time";
import { useToast } from "@/components/Toast";
import { versionTexts } from "@/editor/compare/versionTexts";
import { editorTexts } from "@/editor/editorTexts";
import { docOf, emptyDoc } from "../model/document";
import { ChangeList } from "./ChangeList";
import { versionChanges } from "./catalogueCopy";
import { diffLayout } from "./layoutDiff";

const t = versionTexts;
type Version = Schemas["PipelineVersion"];

type Props = {
  project: string;
  version: Version;
  before?: Version;
  current: boolean;
  onCompare?: () => void;
  onRestored?: () => void;
  onOpen?: () => void;
};

/** One published version. */
export function VersionEntry(props: Props) {
  const { version, before, current } = props;
  const [open, setOpen] = useState(current);
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
        <div className="row end wrap">
          <Button small aria-expanded={open} onClick={() => setOpen(!open)}>
            {t.changed}
          </Button>
          <Acts {...props} />
        </div>
      </div>
      {version.note ? (
        <p className="t2 whitespace-pre-wrap">
          <BidiSafe text={version.note} />
        </p>
      ) : null}
      {open ? <Changed version={version} before={before} /> : null}
    </section>
  );
}

function Changed({ version, before }: Pick<Props, "version" | "before">) {
  const [old, now] = [before ? docOf(before.pipeline) : emptyDoc, docOf(version.pipeline)];
  return <ChangeList changes={versionChanges(old, now)} asides={diffLayout(old, now)} />;
}

function Acts({ project, version, current, onCompare, onRestored, onOpen }: Props) {
  return (
    <>
      {onCompare ? (
        <Button small onClick={onCompare}>
          {t.compare}
        </Button>
      ) : null}
      {onOpen && !current ? (
        <Button small title={t.openHint} onClick={onOpen}>
          {t.open}
        </Button>
      ) : null}
      {onRestored && !current ? (
        <Restore project={project} version={version.version} onRestored={onRestored} />
      ) : null}
    </>
  );
}

type RestoreProps = { project: string; version: number; onRestored: () => void };

function Restore({ project, version, onRestored }: RestoreProps) {
  const say = useToast();
  const restore = useMutation({
    mutationFn: () =>
      ask(
        client.POST("/api/v1/projects/{name}/pipeline/versions/{version}/restore", {
          params: { path: { name: project, version } },
        }),
      ),
    onSuccess: (made) => {
      say("done", t.restored(version, made.version));
      onRestored();
    },
    onError: (error) => say("failed", editorTexts.refused(error.message)),
  });
  return (
    <Button
      small
      title={t.restoreHint}
      busy={restore.isPending && t.restoring}
      onClick={() => restore.mutate()}
    >
      {t.restore}
    </Button>
  );
}
