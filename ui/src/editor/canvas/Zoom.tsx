import { useReactFlow, useStore } from "@xyflow/react";
import { Maximize, Minus, Plus, Search, Wand2 } from "lucide-react";
import { Button } from "@/components/Button";
import { formatPercent } from "@/components/quantity";
import { editorTexts } from "@/editor/editorTexts";
import { FIT } from "./useSight";

const t = editorTexts;

export function Zoom({ onTidy, onFind }: { onTidy: () => void; onFind: () => void }) {
  const flow = useReactFlow();
  const zoom = useStore((state) => Math.round(state.transform[2] * 100));
  return (
    <div className="zoom menu">
      <Button look="ghost" small icon aria-label={t.zoomOut} onClick={() => void flow.zoomOut()}>
        <Minus className="i sm" aria-hidden="true" />
      </Button>
      <span className="s t2 zv">{formatPercent(zoom / 100)}</span>
      <Button look="ghost" small icon aria-label={t.zoomIn} onClick={() => void flow.zoomIn()}>
        <Plus className="i sm" aria-hidden="true" />
      </Button>
      <span className="vr" />
      <Button
        look="ghost"
        small
        icon
        act={t.fit}
        aria-label={t.fit}
        title={t.fit}
        onClick={() => void flow.fitView(FIT)}
      >
        <Maximize className="i sm" aria-hidden="true" />
      </Button>
      <Button
        look="ghost"
        small
        icon
        act={t.search.open}
        aria-label={t.search.open}
        title={t.search.open}
        onClick={onFind}
      >
        <Search className="i sm" aria-hidden="true" />
      </Button>
      <Button act={t.tidy} look="ghost" small title={t.tidyTitle} onClick={onTidy}>
        <Wand2 className="i sm" aria-hidden="true" /> {t.tidy}
      </Button>
    </div>
  );
}
