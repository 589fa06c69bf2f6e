import "@/editor/editor.css";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { ChevronRight, History } from "lucide-react";
import { lazy, type ReactNode, Suspense, useCallback } from "react";
import { isNotFound, type Schemas } from "@/api/client";
import { pipeline as pipelineQuery, project as projectQuery } from "@/api/queries/catalog";
import { Button } from "@/components/Button";
import { loadChunk } from "@/components/loadChunk";
import { Top, useNarrow } from "@/components/Shell";
import { EmptyState, ErrorState, Skeletons } from "@/components/States";
import { Time } from "@/components/Time";
import { versionTexts } from "@/editor/compare/versionTexts";
import { editorTexts } from "@/editor/editorTexts";
import { compareOf, compareText, type PipelineSearch } from "@/editor/pipelineSearch";
import { readTexts } from "@/editor/readTexts";
import { texts } from "@/texts";
import { NotFound } from "../shell/ErrorPages";
import { useReasonNotAdmin } from "../shell/usePermissionReason";
import { ReadSteps } from "./ReadSteps";

const Versions = lazy(() =>
  loadChunk(() => import("@/editor/compare/Versions")).then((module) => ({
    default: module.Versions,
  })),
);
const t = readTexts;
const route = getRouteApi("/app/projects/$name/pipeline");

/** A project's pipeline as it is published, to read: for who does not draw it, and where no room is. */
export function ReadPipeline() {
  const { name } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery(pipelineQuery(name));
  const none = isNotFound(query.error);
  const project = useQuery({ ...projectQuery(name), enabled: none });
  const open = useCallback(
    (next: PipelineSearch) =>
      void navigate({ to: ".", search: (now) => ({ ...now, ...next }), replace: true }),
    [navigate],
  );
  if (none && isNotFound(project.error)) return <NotFound />;
  return (
    <>
      <Head name={name} version={query.data}>
        {query.data ? (
          <Button act={editorTexts.history} onClick={() => open({ panel: "history" })}>
            <History className="i sm" aria-hidden="true" /> {editorTexts.history}
          </Button>
        ) : null}
      </Head>
      {query.isError && !none ? (
        <ErrorState what={t.unread} error={query.error} retry={() => void query.refetch()} />
      ) : null}
      {none && project.data ? <NoPipeline /> : null}
      {query.isPending || (none && project.isPending) ? <Skeletons count={8} height={66} /> : null}
      {query.data ? (
        <ReadSteps
          project={name}
          version={query.data}
          chosen={search.step}
          onChoose={(step) => open({ step })}
        />
      ) : null}
      {search.panel === "history" ? (
        <Suspense>
          <Versions
            project={name}
            compare={compareOf(search.compare)}
            onCompare={(compare) => open({ compare: compare && compareText(compare) })}
            onClose={() => open({ panel: undefined, compare: undefined })}
          />
        </Suspense>
      ) : null}
    </>
  );
}

type HeadProps = { name: string; version?: Schemas["PipelineVersion"]; children: ReactNode };

function Head({ name, version, children }: HeadProps) {
  return (
    <Top>
      <div className="crumb">
        <Link to="/projects">{texts.projects.title}</Link>
        <ChevronRight className="i sm" aria-hidden="true" />
        <b className="tr">{name}</b>
        <ChevronRight className="i sm" aria-hidden="true" />
        <h1>{texts.projects.pipelineOf}</h1>
        {version ? (
          <span className="t3 hide-m nw">
            v{version.version}, {t.published} <Time at={version.created_at} /> {versionTexts.by}{" "}
            {version.created_by}
          </span>
        ) : null}
      </div>
      <div className="end row">
        {children}
        <Draw />
      </div>
    </Top>
  );
}

/** The page's one act; for who may not do it, a line says what is missing and who can give it. */
function Draw() {
  const reason = useReasonNotAdmin();
  // The editor needs a wide screen.
  const phone = useNarrow(720);
  return reason && !phone ? (
    <Button act={t.draw} reason={reason}>
      {t.draw}
    </Button>
  ) : null;
}

/** The project exists, but has no published pipeline. */
function NoPipeline() {
  const admin = !useReasonNotAdmin();
  const narrow = useNarrow(720);
  return (
    <EmptyState title={t.emptyTitle}>
      {t.empty} {admin && narrow ? t.wider : t.emptyWho}
    </EmptyState>
  );
}
