import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { ChevronRight } from "lucide-react";
import { lazy, type ReactNode, Suspense, useCallback, useMemo } from "react";
import { isNotFound, type Schemas, type Step } from "@/api/client";
import { pipeline as pipelineQuery } from "@/api/queries/catalog";
import { me } from "@/api/queries/common";
import { Button } from "@/components/Button";
import { load } from "@/components/load";
import { Safe } from "@/components/Safe";
import { Top, useNarrow, useTitle } from "@/components/Shell";
import { ErrorState, Skeletons } from "@/components/States";
import { Time } from "@/components/Time";
import { texts } from "@/texts";
import { StepNode } from "../deployment/StepNode";
import { NotFound } from "../shell/Problems";
import { useMayAdmin } from "../shell/useLack";

const Graph = lazy(() =>
  load(() => import("../deployment/Graph")).then((module) => ({ default: module.Graph })),
);
const t = texts.projects;
const route = getRouteApi("/app/projects/$name/pipeline");

type PipelineStep = Schemas["PipelineStep"];

const Editor = lazy(() =>
  load(() => import("@/editor/Editor")).then((module) => ({ default: module.Editor })),
);

/** A project's pipeline: to draw for who may publish it and has the room, to read for others. */
export function Pipeline() {
  const { name } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { data: person } = useSuspenseQuery(me);
  const narrow = useNarrow(720);
  useTitle(t.pipelineOf, name);
  const choose = useCallback(
    (step: string | undefined) => void navigate({ to: ".", search: { step }, replace: true }),
    [navigate],
  );
  if (person.role !== "admin" || narrow) return <ReadPipeline />;
  return (
    <Suspense fallback={<Skeletons count={8} height={66} />}>
      <Editor key={name} project={name} chosen={search.step} onChoose={choose} />
    </Suspense>
  );
}

/** A project's pipeline as it is saved, to read. */
function ReadPipeline() {
  const { name } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery(pipelineQuery(name));
  const narrow = useNarrow(1180);
  const choose = useCallback(
    (step: string) => void navigate({ to: ".", search: { step }, replace: true }),
    [navigate],
  );
  const version = query.data;
  const steps = useMemo(() => inOrder(version?.pipeline), [version]);
  const drawn = useMemo(() => steps.map(asStep), [steps]);
  if (isNotFound(query.error)) return <NotFound />;
  const selected = steps.find((step) => step.key === search.step);
  return (
    <>
      <Top>
        <div className="crumb">
          <Link to="/projects">{t.title}</Link>
          <ChevronRight className="i sm" aria-hidden="true" />
          <b className="tr">{name}</b>
          <ChevronRight className="i sm" aria-hidden="true" />
          <h1>{t.pipelineOf}</h1>
          {version ? (
            <span className="t3 hide-m nw">
              v{version.version}, {t.saved} <Time at={version.created_at} /> {t.by}{" "}
              {version.created_by}
            </span>
          ) : null}
        </div>
        <Draw />
      </Top>
      {query.isError ? (
        <ErrorState what={t.unread} error={query.error} retry={() => void query.refetch()} />
      ) : null}
      {query.isPending ? <Skeletons count={8} height={66} /> : null}
      {version ? (
        <div className="runpage flex min-h-0 flex-1 flex-col">
          <div className="rg">
            <section className="gp" aria-label={texts.page.graph}>
              {narrow ? (
                <div className="steps">
                  {drawn.map((step) => (
                    <StepNode
                      key={step.key}
                      step={step}
                      selected={step.key === search.step}
                      onSelect={choose}
                    />
                  ))}
                </div>
              ) : (
                <Suspense fallback={<div className="gcv" />}>
                  <Graph steps={drawn} progress={{}} selected={search.step} onSelect={choose} />
                </Suspense>
              )}
              <div className="gnote">
                {texts.page.stepCount(steps.length)}. {t.readOnly}
              </div>
            </section>
            <section className="lp" aria-label={selected?.key ?? t.pipelineOf}>
              {selected ? <Detail step={selected} /> : <p className="pane t3">{t.choose}</p>}
            </section>
          </div>
        </div>
      ) : null}
    </>
  );
}

/** The page's one act for who may not do it: dashed, with what is missing and who can give it. */
function Draw() {
  const reason = useMayAdmin();
  if (!reason) return null;
  return (
    <div className="end row">
      <Button reason={reason}>{t.draw}</Button>
    </div>
  );
}

function inOrder(pipeline?: Schemas["Pipeline"]): PipelineStep[] {
  const by = new Map((pipeline?.steps ?? []).map((step) => [step.key, step]));
  const order = pipeline?.order ?? [...by.keys()];
  return order.flatMap((key) => by.get(key) ?? []);
}

/** A step of a pipeline as the run view draws one that has not begun. */
function asStep(step: PipelineStep, at: number): Step {
  const image = step.service?.image ?? step.plugin?.image;
  const version = image?.tag ?? image?.pattern;
  return {
    run: 0,
    key: step.key,
    position: at + 1,
    kind: kindOf(step),
    title: [nameOf(step), version].filter(Boolean).join(" "),
    needs: step.needs ?? [],
    status: "pending",
    lines: 0,
  };
}

function kindOf(step: PipelineStep): Step["kind"] {
  if (step.approval) return "approval";
  return step.service ? "service" : "plugin";
}

function nameOf(step: PipelineStep): string | undefined {
  return step.service?.name ?? step.plugin?.name ?? texts.page.approval;
}

function Detail({ step }: { step: PipelineStep }) {
  const { service, plugin } = step;
  const image = service?.image ?? plugin?.image;
  return (
    <>
      <div className="sth">
        <h2>{step.key}</h2>
        <span className="t3">
          {texts.page[kindOf(step)]} {service?.name ?? plugin?.name}
        </span>
      </div>
      <dl className="kv pane content-start">
        <Pair name={t.needs}>{step.needs?.join(", ") || t.nothing}</Pair>
        {image?.repository ? (
          <Pair name={t.image}>
            <span className="mono">
              {image.registry}/{image.repository}
              {image.tag ? `:${image.tag}` : ""}
            </span>
          </Pair>
        ) : null}
        {service?.ports?.map((port) => (
          <Pair key={port.name} name={`${t.ports}: ${port.name}`}>
            {port.port}
            {port.expose ? `, ${t.exposed}` : ""}
          </Pair>
        ))}
        {Object.entries(service?.env ?? {}).map(([key, value]) => (
          <Value key={key} name={key} value={value} />
        ))}
        {Object.entries(plugin?.parameters ?? {}).map(([key, value]) => (
          <Value key={key} name={key} value={value} />
        ))}
        {Object.entries(step.approval ?? {}).map(([key, value]) => (
          <Value key={key} name={key} value={value} />
        ))}
        {Object.entries(plugin?.secrets ?? {}).map(([key, value]) => (
          <Value key={key} name={`${t.secrets}: ${key}`} value={value} />
        ))}
      </dl>
    </>
  );
}

function Pair({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function Value({ name, value }: { name: string; value: unknown }) {
  return (
    <Pair name={name}>
      <span className="mono whitespace-pre-wrap">
        <Safe text={typeof value === "string" ? value : JSON.stringify(value, null, 2)} />
      </span>
    </Pair>
  );
}
