import { PanelLeftClose, Plus } from "lucide-react";
import type { RefObject } from "react";
import { Button } from "@/components/Button";
import { editorTexts } from "@/editor/editorTexts";
import type { Catalogue } from "../model/catalogue";
import { StepList } from "./StepList";

const t = editorTexts;

type Props = {
  catalogue: Catalogue;
  field: RefObject<HTMLInputElement | null>;
  open: boolean;
  onOpen: (open: boolean) => void;
  onAdd: (what: string) => void;
  /** Opens the picker beside the rail. */
  onPick: (at: DOMRect) => void;
};

/** What can be added, beside the canvas; as a rail, it leaves the room to the drawing. */
export function Palette({ catalogue, field, open, onOpen, onAdd, onPick }: Props) {
  if (!open)
    return (
      <aside className="pal folded" aria-label={t.steps}>
        <Button
          look="ghost"
          icon
          aria-label={t.addStep}
          title={t.addStep}
          onClick={(event) => onPick(event.currentTarget.getBoundingClientRect())}
        >
          <Plus className="i" aria-hidden="true" />
        </Button>
        <Button
          look="ghost"
          icon
          className="flip"
          aria-label={t.showSteps}
          title={t.showSteps}
          onClick={() => onOpen(true)}
        >
          <PanelLeftClose className="i" aria-hidden="true" />
        </Button>
      </aside>
    );
  return (
    <aside className="pal" aria-label={t.steps}>
      <div className="row palh">
        <h2 className="ph3 grow">{t.steps}</h2>
        <Button
          look="ghost"
          small
          icon
          aria-label={t.hideSteps}
          title={t.hideSteps}
          onClick={() => onOpen(false)}
        >
          <PanelLeftClose className="i sm" aria-hidden="true" />
        </Button>
      </div>
      <StepList catalogue={catalogue} field={field} onAdd={onAdd} />
    </aside>
  );
}
