import { useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense, useCallback } from "react";
import { me } from "@/api/queries/common";
import { load } from "@/components/load";
import { useNarrow, useTitle } from "@/components/Shell";
import { Skeletons } from "@/components/States";
import { texts } from "@/texts";
import type { PipelineSearch } from "./search";

const route = getRouteApi("/app/projects/$name/pipeline");

const Editor = lazy(() =>
  load(() => import("@/editor/Editor")).then((module) => ({ default: module.Editor })),
);
const ReadPipeline = lazy(() =>
  load(() => import("./ReadPipeline")).then((module) => ({ default: module.ReadPipeline })),
);

/** A project's pipeline: to draw for who may publish it and has the room, to read for others. */
export function Pipeline() {
  const { name } = route.useParams();
  const { step, panel, compare } = route.useSearch();
  const navigate = route.useNavigate();
  const { data: person } = useSuspenseQuery(me);
  const narrow = useNarrow(720);
  useTitle(texts.projects.pipelineOf, name);
  const open = useCallback(
    (next: PipelineSearch) =>
      void navigate({ to: ".", search: (now) => ({ ...now, ...next }), replace: true }),
    [navigate],
  );
  const choose = useCallback((chosen: string | undefined) => open({ step: chosen }), [open]);
  return (
    <Suspense fallback={<Skeletons count={8} height={66} />}>
      {person.role !== "admin" || narrow ? (
        <ReadPipeline />
      ) : (
        <Editor
          key={name}
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
