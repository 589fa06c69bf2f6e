import { Popover } from "@base-ui/react/popover";
import { useReactFlow } from "@xyflow/react";
import { type KeyboardEvent, type ReactNode, type RefObject, useRef } from "react";
import { useToast } from "@/components/Toast";
import { editorTexts } from "@/editor/editorTexts";
import type { Catalogue } from "../model/catalogue";
import type { Spot } from "../model/document";
import type { Editing } from "../useEditing";
import type { CanvasFloat, MenuAct } from "./canvasFloat";
import { menuActs } from "./canvasMenu";
import { PortShape } from "./PortShape";
import { StepList } from "./StepList";
import type { PortEnd, StepConnection } from "./stepConnections";
import { FIT } from "./useSight";

const t = editorTexts;

type Props = {
  float: CanvasFloat;
  editing: Editing;
  catalogue: Catalogue;
  onClose: () => void;
  onPick: (what: string, float: Extract<CanvasFloat, { kind: "picker" }>) => void;
  onConnect: (way: StepConnection) => void;
};

/** What lies over the canvas for a moment, at the place it was asked for. */
export default function CanvasOverlay(props: Props) {
  const { float, editing, catalogue, onClose, onPick, onConnect } = props;
  const flow = useReactFlow();
  const say = useToast();
  if (float.kind === "picker")
    return (
      <Picker
        at={float.at}
        from={float.from}
        onClose={onClose}
        catalogue={catalogue}
        onAdd={(what) => onPick(what, float)}
      />
    );
  if (float.kind === "fields")
    return (
      <ActMenu
        at={float.at}
        label={t.whichField(float.step)}
        onClose={onClose}
        acts={float.ways.map((way) => ({
          label: way.label,
          icon: <PortShape type={way.type ?? "any"} />,
          keys: way.required && way.empty ? t.step.required : undefined,
          run: () => onConnect(way),
        }))}
        titled
      />
    );
  const middle = flow.screenToFlowPosition(float.at);
  const fit = () => void flow.fitView(FIT);
  const acts = menuActs(float.target, { editing, at: float.at, middle, fit, say });
  return <ActMenu at={float.at} label={float.label} acts={acts} onClose={onClose} />;
}

/** A place in the window, as what lies there is anchored. */
function anchorAt({ x, y }: Spot) {
  return { getBoundingClientRect: () => new DOMRect(x, y, 0, 0) };
}

type LaidProps = {
  at: Spot;
  label: string;
  className: string;
  /** What has the focus at first. */
  focus?: RefObject<HTMLElement | null>;
  onClose: () => void;
  children: ReactNode;
};

/** Laid over the canvas at a place of the window, within the page's own part of it. */
function Laid({ at, label, className, focus, onClose, children }: LaidProps) {
  return (
    <Popover.Root open onOpenChange={(open) => !open && onClose()}>
      <Popover.Portal container={document.querySelector<HTMLElement>("main")}>
        <Popover.Positioner
          anchor={anchorAt(at)}
          positionMethod="fixed"
          side="bottom"
          align="start"
          className="over"
        >
          <Popover.Popup
            className={className}
            aria-label={label}
            initialFocus={focus}
            finalFocus={false}
          >
            {children}
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  );
}

type PickerProps = {
  at: Spot;
  from?: PortEnd;
  catalogue: Catalogue;
  onClose: () => void;
  onAdd: (what: string) => void;
};

function Picker({ at, from, catalogue, onClose, onAdd }: PickerProps) {
  const field = useRef<HTMLInputElement>(null);
  const label = from ? t.addConnected(from.node) : t.pickStep;
  return (
    <Laid at={at} label={label} className="menu picker" focus={field} onClose={onClose}>
      <StepList
        catalogue={catalogue}
        field={field}
        stepsOnly={from !== undefined}
        autoFocus
        onAdd={onAdd}
      />
    </Laid>
  );
}

type ActMenuProps = {
  at: Spot;
  label: string;
  acts: MenuAct[];
  titled?: boolean;
  onClose: () => void;
};

function ActMenu({ at, label, acts, titled, onClose }: ActMenuProps) {
  const list = useRef<HTMLDivElement>(null);
  const first = useRef<HTMLButtonElement>(null);
  return (
    <Laid at={at} label={label} className="menu" focus={first} onClose={onClose}>
      {titled ? <div className="mh">{label}</div> : null}
      <div
        ref={list}
        role="menu"
        aria-label={label}
        tabIndex={-1}
        onKeyDown={(event) => moveFocus(event, list.current)}
      >
        {acts.map((act, i) => (
          <Act key={act.label} act={act} focus={i === 0 ? first : undefined} onClose={onClose} />
        ))}
      </div>
    </Laid>
  );
}

/** Arrow keys, Home and End lead along a menu, around its ends. */
function moveFocus(event: KeyboardEvent, list: HTMLElement | null) {
  const items = [...(list?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
  const at = items.indexOf(document.activeElement as HTMLElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  items[(to + items.length) % items.length]?.focus();
}

type ActProps = { act: MenuAct; focus?: RefObject<HTMLButtonElement | null>; onClose: () => void };

function Act({ act: { label, icon, keys, begins, run }, focus, onClose }: ActProps) {
  return (
    <>
      {begins ? <hr className="msep" /> : null}
      <button
        ref={focus}
        type="button"
        role="menuitem"
        className="mi"
        tabIndex={-1}
        onClick={() => {
          onClose();
          run();
        }}
      >
        {icon}
        <span className="tr">{label}</span>
        {keys ? <span className="s end t3 nw">{keys}</span> : null}
      </button>
    </>
  );
}
