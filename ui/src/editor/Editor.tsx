import "./editor.css";
import { useQuery, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import {
  type Connection,
  type FinalConnectionState,
  ReactFlowProvider,
  useReactFlow,
} from "@xyflow/react";
import { lazy, Suspense, useCallback, useMemo, useRef, useState } from "react";
import { me } from "@/api/queries/common";
import { copyText } from "@/components/Copy";
import { load } from "@/components/load";
import { ErrorState, Skeletons } from "@/components/States";
import { useToast } from "@/components/Toast";
import { editorTexts } from "@/editorTexts";
import { Bar } from "./Bar";
import { Bottom, type BottomTab } from "./Bottom";
import { Canvas } from "./Canvas";
import type { Mark } from "./canvasNodes";
import type { Catalogue } from "./catalogue";
import { copy, paste } from "./clipboard";
import type { Dry } from "./DryRun";
import { catalogue as catalogueQuery } from "./door";
import { meaningOf } from "./edges";
import {
  addComment,
  addNeed,
  addStep,
  commentId,
  move,
  removeChosen,
  removeNeed,
  renameStep,
  setComment,
  setField,
  wire,
} from "./edit";
import { Inspector } from "./Inspector";
import { changesOf } from "./merge";
import { canonical, type Doc, pipelineOf, type Spot, stepOf } from "./model";
import { Palette } from "./Palette";
import { fresh, middle } from "./placing";
import type { Session } from "./session";
import { tidy } from "./shape";
import { fieldUnder, focusField, judgeOf, light, needNo, toField } from "./targets";
import { useByStep, useProblems, useSample, useSession, useSessionState } from "./useEditor";
import { useShortcuts } from "./useShortcuts";

const Merge = lazy(() => load(() => import("./Merge")).then((one) => ({ default: one.Merge })));
const Versions = lazy(() =>
  load(() => import("./Versions")).then((one) => ({ default: one.Versions })),
);
const Discard = lazy(() =>
  load(() => import("./Discard")).then((one) => ({ default: one.Discard })),
);
const t = editorTexts;

type EditorProps = {
  project: string;
  chosen?: string;
  onChoose: (step: string | undefined) => void;
};

/** The pipeline as somebody draws it. */
export function Editor(props: EditorProps) {
  const { data: person } = useSuspenseQuery(me);
  const { session, error, retry } = useSession(props.project, person.name);
  const catalogue = useQuery(catalogueQuery(props.project));
  const wrong = error ?? catalogue.error;
  if (wrong)
    return (
      <ErrorState
        what={t.unread}
        error={wrong}
        retry={() => {
          retry();
          void catalogue.refetch();
        }}
      />
    );
  if (!session || !catalogue.data) return <Skeletons count={8} height={66} />;
  return (
    <ReactFlowProvider>
      <Loaded {...props} session={session} catalogue={catalogue.data} />
    </ReactFlowProvider>
  );
}

const NOTHING = new Set<string>();

function Loaded(props: EditorProps & { session: Session; catalogue: Catalogue }) {
  const { project, session, catalogue } = props;
  const state = useSessionState(session);
  const doc = state.history.now;
  const flow = useReactFlow();
  const say = useToast();
  const cache = useQueryClient();
  const [chosen, setChosen] = useState<Set<string>>(() =>
    props.chosen ? new Set([props.chosen]) : NOTHING,
  );
  const [chosenEdges, setChosenEdges] = useState<Set<string>>(NOTHING);
  const [tab, setTab] = useState<BottomTab>("problems");
  const [ran, setRan] = useState<Dry>();
  const [sheet, setSheet] = useState<"versions" | "merge" | "discard">();
  const [publishing, setPublishing] = useState(false);
  const find = useRef<HTMLInputElement>(null);
  const port = useRef<{ node: string; handle: string }>(null);
  const problems = useProblems(project, doc, catalogue);
  const dry = tab === "dryRun" && ran?.doc === doc ? ran : undefined;
  const shown = useMemo(() => (dry ? dry.problems : problems.all), [problems.all, dry]);
  const byKey = useByStep(shown);
  const changes = useMemo(() => changesOf(state.published, doc), [state.published, doc]);
  const differs = useMemo(
    () => canonical(pipelineOf(state.published)) !== canonical(pipelineOf(doc)),
    [state.published, doc],
  );
  const marks = useMemo(() => {
    if (dry) return new Map<string, Mark>([...dry.passed].map((key) => [key, "passes"]));
    return tab === "changes"
      ? new Map<string, Mark>(changes.map((one) => [one.key, one.kind]))
      : undefined;
  }, [tab, changes, dry]);
  const change = useCallback((next: Doc, kind?: string) => session.change(next, kind), [session]);

  const choose = useCallback(
    (nodes: Set<string>, edges: Set<string>) => {
      setChosen(nodes);
      setChosenEdges(edges);
      const [only] = nodes;
      props.onChoose(nodes.size === 1 && only && !only.startsWith("#") ? only : undefined);
    },
    [props.onChoose],
  );
  const [only] = chosen;
  const step = chosen.size === 1 && only ? stepOf(doc, only) : undefined;
  const sample = useSample(project);

  const show = (key: string, field?: string) => {
    choose(new Set([key]), NOTHING);
    void flow.fitView({ nodes: [{ id: key }], maxZoom: 1, padding: 0.8, duration: 0 });
    if (!field) return;
    // The inspector shows the step only after this.
    setTimeout(() => focusField(field), 60);
  };

  const add = (what: string, spot?: Spot) => {
    const at = spot ?? middle(flow);
    const place = { x: Math.round(at.x), y: Math.round(at.y) };
    if (what === "comment") {
      change(addComment(session.doc, { text: "", position: place }));
      choose(new Set([commentId(session.doc.comments.length - 1)]), NOTHING);
      return;
    }
    change(addStep(session.doc, fresh(what, place)));
    const added = session.doc.steps[session.doc.steps.length - 1];
    if (added) choose(new Set([added.key]), NOTHING);
  };

  const judge = useCallback(
    (connection: Connection) => judgeOf(session.doc, catalogue, connection),
    [session, catalogue],
  );
  const connect = (connection: Connection) => {
    const { source, target, sourceHandle, targetHandle } = connection;
    if (targetHandle?.startsWith("in:") && sourceHandle?.startsWith("out:"))
      change(wire(session.doc, source, sourceHandle.slice(4), target, targetHandle.slice(3)));
    else change(addNeed(session.doc, source, target));
  };
  const loose = (_: FinalConnectionState, event: MouseEvent | TouchEvent, why?: string) => {
    const from = port.current;
    port.current = null;
    light(null);
    const field = from && step ? fieldUnder(event) : null;
    if (field && from && step) {
      const connection = {
        source: from.node,
        sourceHandle: from.handle,
        target: step.key,
        targetHandle: field === "needs" ? "before" : `in:${field}`,
      };
      const no = judge(connection);
      if (no) say("failed", no);
      else connect(connection);
    } else if (why) say("failed", why);
  };

  const remove = () => {
    let next = session.doc;
    for (const id of chosenEdges) {
      const edge = meaningOf(id);
      next =
        edge.kind === "order"
          ? removeNeed(next, edge.from, edge.to)
          : setField(next, edge.to, edge.path, undefined);
    }
    if (chosen.size > 0) next = removeChosen(next, chosen);
    change(next);
    choose(NOTHING, NOTHING);
  };
  const insert = (text: string, by: Spot) => {
    const pasted = paste(session.doc, text, by);
    if (!pasted) {
      say("failed", t.nothingToPaste);
      return;
    }
    change(pasted.doc);
    choose(pasted.ids, NOTHING);
  };
  const lay = async () => {
    change(move(session.doc, await tidy(session.doc, catalogue)), "tidy");
    setTimeout(() => void flow.fitView({ padding: 0.15, maxZoom: 1 }), 30);
  };
  const publish = async () => {
    setPublishing(true);
    try {
      const version = await session.publish();
      if (version === undefined) setSheet("merge");
      else say("done", t.wasPublished(version));
      void cache.invalidateQueries({ queryKey: ["project", project] });
      void cache.invalidateQueries({ queryKey: ["projects"] });
    } catch (error) {
      say("failed", t.refused(error instanceof Error ? error.message : ""));
    } finally {
      setPublishing(false);
    }
  };
  const errors = problems.all.filter((one) => !one.advice);
  const whyNot = publishReason(errors.length, differs, Boolean(state.clash), state.base);
  const nextProblem = () => {
    const all = shown.filter((one) => one.step);
    const at = all.findIndex((one) => one.step === only);
    const next = all[(at + 1) % Math.max(1, all.length)];
    if (next?.step) show(next.step, next.field);
  };

  useShortcuts({
    find: () => find.current?.focus(),
    fit: () => void flow.fitView({ padding: 0.15, maxZoom: 1 }),
    tidy: () => void lay(),
    undo: () => session.undo(),
    redo: () => session.redo(),
    all: () => choose(new Set(doc.steps.map((one) => one.key)), NOTHING),
    remove,
    duplicate: () => insert(copy(doc, chosen), { x: 32, y: 32 }),
    open: () => focusField("key"),
    connect: () => document.querySelector<HTMLElement>("[data-connect]")?.focus(),
    problem: nextProblem,
    save: () => void session.flush(),
    publish: () => {
      if (!whyNot && !publishing) void publish();
    },
    copied: () => {
      if (chosen.size === 0) return undefined;
      say("done", t.copied(chosen.size));
      return copy(doc, chosen);
    },
    pasted: (text) => insert(text, { x: 40, y: 40 }),
    escape: () => choose(NOTHING, NOTHING),
  });

  return (
    <>
      <Bar
        project={project}
        state={state}
        changes={changes.length}
        differs={differs}
        whyNot={whyNot}
        publishing={publishing}
        onUndo={() => session.undo()}
        onRedo={() => session.redo()}
        onVersions={() => setSheet("versions")}
        onChanges={() => setTab("changes")}
        onDryRun={() => setTab("dryRun")}
        onDiscard={() => setSheet("discard")}
        onExport={async () => {
          // Sorted, so that the same pipeline is the same bytes wherever it was drawn.
          const text = JSON.stringify(JSON.parse(canonical(pipelineOf(session.doc))), null, 2);
          if (await copyText(text)) say("done", t.exported);
        }}
        onMerge={() => setSheet("merge")}
        onPublish={() => void publish()}
      />
      <div className="eg">
        <Palette catalogue={catalogue} field={find} onAdd={add} />
        <section className="cv" aria-label={t.canvas}>
          <Canvas
            doc={doc}
            catalogue={catalogue}
            problems={byKey}
            marks={marks}
            chosen={chosen}
            chosenEdges={chosenEdges}
            onChoose={choose}
            onMove={(spots) => {
              const ids = [...spots.keys()].sort().join(",");
              change(move(session.doc, spots), `move ${ids}`);
            }}
            onConnect={connect}
            judge={judge}
            onLoose={loose}
            onDragPort={(source) => {
              if (source) port.current = source;
              light(source && step ? (path) => judge(toField(source, step.key, path)) : null);
            }}
            onDrop={add}
            onComment={(index, text) =>
              change(setComment(session.doc, index, text), `comment ${index}`)
            }
            onTidy={() => void lay()}
          />
          {doc.steps.length === 0 ? <p className="cvempty t2">{t.empty}</p> : null}
        </section>
        <Inspector
          step={step}
          count={chosen.size}
          doc={doc}
          catalogue={catalogue}
          problems={(step && byKey.get(step.key)) ?? []}
          sample={sample}
          onChange={(path, value) =>
            step && change(setField(session.doc, step.key, path, value), `${step.key} ${path}`)
          }
          onRename={(from, to) => {
            change(renameStep(session.doc, from, to));
            choose(new Set([to]), NOTHING);
          }}
          onNeed={(from, to) => {
            const no = needNo(session.doc, from, to);
            if (no) say("failed", no);
            else change(addNeed(session.doc, from, to));
          }}
          onLetGo={(from, to) => change(removeNeed(session.doc, from, to))}
        />
        <Bottom
          project={project}
          base={state.base}
          problems={problems.all}
          asked={problems.asked}
          changes={changes}
          tab={tab}
          onTab={setTab}
          onShow={show}
          doc={doc}
          catalogue={catalogue}
          only={step?.key}
          dry={ran}
          onDryRun={setRan}
        />
      </div>
      <Suspense>
        {sheet === "versions" ? (
          <Versions
            project={project}
            onClose={() => setSheet(undefined)}
            onRestored={() => {
              void session.restarted();
              void cache.invalidateQueries({ queryKey: ["project", project, "pipeline"] });
            }}
            onOpen={(old) => {
              change(old);
              setSheet(undefined);
            }}
          />
        ) : null}
        {sheet === "merge" && state.clash ? (
          <Merge
            clash={state.clash}
            doc={doc}
            onClose={() => setSheet(undefined)}
            onResolve={(choices) => {
              session.resolve(choices);
              setSheet(undefined);
            }}
          />
        ) : null}
        {sheet === "discard" ? (
          <Discard
            changes={changes.length}
            version={state.base}
            onClose={() => setSheet(undefined)}
            onDiscard={() => {
              setSheet(undefined);
              session.discard().catch((error) => say("failed", t.refusedSave(error.message)));
            }}
          />
        ) : null}
      </Suspense>
    </>
  );
}

function publishReason(errors: number, differs: boolean, clash: boolean, base: number) {
  if (clash) return t.merge.waits;
  if (errors > 0) return t.publishWaits(errors);
  if (!differs) return base > 0 ? t.publishNothing : t.publishSame;
  return undefined;
}
