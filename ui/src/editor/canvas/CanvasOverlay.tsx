import { Menu } from "@base-ui/react/menu";
import { Popover } from "@base-ui/react/popover";
import { useRef } from "react";
import { editorTexts } from "@/editor/editorTexts";
import type { Catalogue } from "../model/catalogue";
import type { Spot } from "../model/document";
import type { CanvasFloat, MenuAct } from "./canvasFloat";
import { PortShape } from "./PortShape";
import { StepList } from "./StepList";
import type { PortEnd, StepConnection } from "./stepConnections";

const t = editorTexts;

type Props = {
  float: CanvasFloat;
  catalogue: Catalogue;
  onClose: () => void;
  onPick: (what: string, float: Extract<CanvasFloat, { kind: "picker" }>) => void;
  onConnect: (way: StepConnection) => void;
};

/** What lies over the canvas for a moment, at the place it was asked for. */
export default function CanvasOverlay({ float, catalogue, onClose, onPick, onConnect }: Props) {
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
  return <ActMenu at={float.at} label={float.label} acts={float.acts} onClose={onClose} />;
}

/** A place in the window, as what lies there is anchored. */
function anchorAt({ x, y }: Spot) {
  return { getBoundingClientRect: () => new DOMRect(x, y, 0, 0) };
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
  return (
    <Popover.Root open onOpenChange={(open) => !open && onClose()}>
      <Popover.Portal>
        <Popover.Positioner
          anchor={anchorAt(at)}
          side="right"
          align="start"
          sideOffset={4}
          className="over"
        >
          <Popover.Popup
            className="menu picker"
            aria-label={from ? t.addConnected(from.node) : t.addStep}
            initialFocus={field}
            finalFocus={false}
          >
            <StepList
              catalogue={catalogue}
              field={field}
              stepsOnly={from !== undefined}
              autoFocus
              onAdd={onAdd}
            />
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
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
  return (
    <Menu.Root open modal={false} onOpenChange={(open) => !open && onClose()}>
      <Menu.Portal>
        <Menu.Positioner anchor={anchorAt(at)} side="bottom" align="start" className="over">
          <Menu.Popup className="menu" aria-label={label} finalFocus={false}>
            {titled ? <div className="mh">{label}</div> : null}
            {acts.map((act) => (
              <Act key={act.label} act={act} />
            ))}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}

function Act({ act: { label, icon, keys, begins, reason, run } }: { act: MenuAct }) {
  return (
    <>
      {begins ? <Menu.Separator className="msep" /> : null}
      <Menu.Item className="mi" disabled={reason !== undefined} title={reason} onClick={run}>
        {icon}
        <span className="tr">{label}</span>
        {keys ? <span className="s end t3 nw">{keys}</span> : null}
      </Menu.Item>
    </>
  );
}
