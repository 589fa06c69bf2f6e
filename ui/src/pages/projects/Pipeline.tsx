import { useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useState } from "react";
import { me } from "@/api/queries/common";
import { loadChunk } from "@/components/loadChunk";
import { PageSkeleton } from "@/components/PageSkeleton";
import { useNarrow, useTitle } from "@/components/Shell";
import type { PipelineSearch } from "@/editor/pipelineSearch";
import { texts } from "@/texts";

const route = getRouteApi("/app/projects/$name/pipeline");

const Editor = lazy(() =>
  loadChunk(() => import("@/editor/Editor")).then((module) => ({ default: module.Editor })),
);
const ReadPipeline = lazy(() =>
  loadChunk(() => import("./ReadPipeline")).then((module) => ({ default: module.ReadPipeline })),
);

/**
 * A project's pipeline: to draw for who may publish it and has the room, to read for others. What was
 * drawn, and can be undone, outlives a window that is narrow for a while.
 */
export function Pipeline() {
  const { name } = route.useParams();
  const { step, panel, compare } = route.useSearch();
  const navigate = route.useNavigate();
  const { data: person } = useSuspenseQuery(me);
  const narrow = useNarrow(720);
  const [drawing, setDrawing] = useState("");
  const draws = person.role === "admin" && (!narrow || drawing === name);
  if (draws && drawing !== name) setDrawing(name);
  useTitle(texts.projects.pipelineOf, name);
  const open = useCallback(
    (next: PipelineSearch) =>
      void navigate({ to: ".", search: (now) => ({ ...now, ...next }), replace: true }),
    [navigate],
  );
  const choose = useCallback((chosen: string | undefined) => open({ step: chosen }), [open]);
  return (
    <Suspense fallback={<Coming />}>
      {!draws ? (
        <ReadPipeline />
      ) : (
        <Editor
          key={name}
          instead={narrow ? <ReadPipeline /> : undefined}
          project={name}
          chosen={step}
          onChoose={choose}
          panel={panel}
          compare={compare}
          onAddress={open}
        />
      )}
    </Suspense>
  );
}

/** Before the page's own script is there. */
const Coming = () => (
  <>
    <h1 className="vh">{texts.projects.pipelineOf}</h1>
    <div className="top" />
    <PageSkeleton shape="editor" />
  </>
);
