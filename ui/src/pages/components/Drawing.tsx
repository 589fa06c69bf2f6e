import "@/editor/editor.css";
import "@/editor/compare/compare.css";
import { ReactFlowProvider } from "@xyflow/react";
import { type ComponentProps, useMemo } from "react";
import type { Schemas } from "@/api/client";
import { Problems } from "@/editor/BottomPanel";
import { Canvas } from "@/editor/canvas/Canvas";
import { PortShape } from "@/editor/canvas/PortShape";
import type { Mark } from "@/editor/compare/ChangeBadge";
import { editorTexts } from "@/editor/editorTexts";
import { Shell } from "@/editor/inspector/fields";
import { TextInput } from "@/editor/inspector/TextInput";
import type { Catalogue, PortType } from "@/editor/model/catalogue";
import type { Doc, Step } from "@/editor/model/document";
import { commentId } from "@/editor/model/edit";
import type { Problem } from "@/editor/model/problems";
import { galleryTexts as t } from "@/pages/components/galleryTexts";
import { Acted } from "./Acted";
import { Part, Shown } from "./Part";

// The pipeline editor's own pieces; loaded after the rest of the gallery, as the editor is.

const nothing = () => {};
/** How a reference begins. */
const OPEN = "${{";

const seed = {
  name: "sql-seed",
  component: {
    secrets: [{ name: "dsn", required: true }],
    parameters: { type: "object", properties: { source: { type: "string" } } },
    outputs: { type: "object", properties: { rows: { type: "integer" } } },
  },
} as unknown as Schemas["Plugin"];
const catalogue: Catalogue = {
  services: new Map([["postgres", {} as Schemas["Service"]]]),
  plugins: new Map([["sql-seed", seed]]),
  secrets: ["DB_PASSWORD"],
};

const step = (key: string, x: number, y: number, more: object): Step =>
  ({ key, position: { x, y }, ...more }) as Step;

const db = step("db", 0, 20, {
  service: { name: "postgres", ports: [{ name: "sql", port: 5432, expose: true }] },
});
const fill = step("seed", 260, 0, {
  needs: ["db"],
  plugin: {
    name: "sql-seed",
    parameters: { source: `${OPEN} services.db.url }}` },
    secrets: { dsn: `${OPEN} secrets.DB_PASSWORD }}` },
  },
});
const ask = step("release", 260, 140, { needs: ["db"], approval: { prompt: t.examples.prompt } });
const check = step("check", 520, 20, {
  needs: ["seed"],
  job: { name: "postgres", env: { DB: `${OPEN} services.db.url }}` } },
});
const comments = [{ text: t.drawing.comment, position: { x: 0, y: 170 } }] as Doc["comments"];

const drawn: Doc = { steps: [db, fill, ask, check], comments };
const compared: Doc = { steps: [db, fill, check], comments: [] };
const marks = new Map<string, Mark>([
  ["db", "changed"],
  ["seed", "added"],
  ["release", "removed"],
]);
const of = (key: string, advice: boolean): Problem => ({
  step: key,
  field: advice ? "approval.teams" : "plugin.parameters.source",
  code: "example",
  message: advice ? t.drawing.advice : t.drawing.refused,
  advice,
});
const found = [of("seed", false), of("release", true)];
const wrong = new Map(found.map((one) => [one.step ?? "", [one]]));
const none = new Map<string, Problem[]>();

type CanvasProps = ComponentProps<typeof Canvas>;

function Drawn(props: Pick<CanvasProps, "doc" | "problems"> & Partial<CanvasProps>) {
  const chosen = useMemo(() => new Set<string>(), []);
  return (
    <div className="framed cv h-120">
      <ReactFlowProvider>
        <Canvas
          catalogue={catalogue}
          chosen={chosen}
          chosenEdges={chosen}
          onChoose={nothing}
          onMove={nothing}
          onConnect={nothing}
          judge={() => null}
          onLoose={nothing}
          onDragPort={nothing}
          onDrop={nothing}
          onComment={nothing}
          onTidy={nothing}
          onFile={nothing}
          onFind={nothing}
          onMenu={nothing}
          onPlus={nothing}
          {...props}
        />
      </ReactFlowProvider>
    </div>
  );
}

const types = Object.keys(editorTexts.problem.types) as PortType[];

/** Steps as they are drawn, their ports, references, problems and the map. */
export default function Drawing() {
  // With one chosen alone the canvas goes there, as it does for who comes by a link.
  const chosen = useMemo(() => new Set(["db", commentId(0)]), []);
  return (
    <>
      <Part title={t.sections.drawing}>
        <Shown name={t.drawing.now}>
          <Drawn doc={drawn} problems={wrong} chosen={chosen} />
        </Shown>
        <Shown name={t.drawing.compared}>
          <Drawn doc={compared} before={drawn} marks={marks} problems={none} />
        </Shown>
        <div className="framed prob">
          <Problems problems={found} asked="asked" onShow={nothing} />
          <Problems problems={[]} asked="asked" onShow={nothing} />
          <Problems problems={[]} asked="silent" onShow={nothing} />
        </div>
      </Part>
      <Part title={t.sections.ports}>
        <div className="row flex-wrap gap-4">
          {types.map((type) => (
            <span key={type} className="row" data-t={type}>
              <PortShape type={type} /> {editorTexts.problem.types[type]}
            </span>
          ))}
        </div>
        <Reference name={t.pickers.chosen} problems={[]} />
        <Reference name={t.pickers.refused} problems={[of("seed", false)]} />
        <Reference name={t.drawing.takes} problems={[]} drop="yes" />
        <Reference name={t.drawing.takesNot} problems={[]} drop="no" />
      </Part>
    </>
  );
}

type ReferenceProps = { name: string; problems: Problem[]; drop?: "yes" | "no" };

/** A field that holds a reference. */
function Reference({ name, problems, drop }: ReferenceProps) {
  const dropped = (root: HTMLElement) => {
    const field = root.querySelector<HTMLElement>("[data-field]");
    if (field && drop) field.dataset.drop = drop;
  };
  return (
    <Shown name={name}>
      <Acted act={dropped}>
        <Shell
          label="source"
          path="plugin.parameters.source"
          type="text"
          required
          problems={problems}
        >
          {(id, described, wrong) => (
            <TextInput
              {...{ id, described, wrong }}
              label="source"
              value={fill.plugin?.parameters?.source}
              onChange={nothing}
            />
          )}
        </Shell>
      </Acted>
    </Shown>
  );
}
