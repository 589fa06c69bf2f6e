import { FileUp, Shapes } from "lucide-react";
import { useRef } from "react";
import { Button } from "@/components/Button";
import { dialogTexts } from "@/editor/dialogTexts";
import { editorTexts } from "@/editor/editorTexts";
import { newStep } from "./canvas/newStep";
import type { Catalogue } from "./model/catalogue";
import { exampleDrawing } from "./model/exampleDrawing";
import type { Editing } from "./useEditing";

const t = editorTexts;

type Props = { catalogue: Catalogue; editing: Editing };

/** The three ways to begin: with an example, with a Compose file, or by drawing. */
export default function EmptyCanvas({ catalogue, editing }: Props) {
  const file = useRef<HTMLInputElement>(null);
  const begin = () => {
    editing.change(exampleDrawing(catalogue, (what, at) => newStep(what, at, catalogue)));
    void editing.actions.lay();
  };
  return (
    <div className="cvempty">
      <p className="t2">{t.empty}</p>
      <div className="row">
        {catalogue.services.size > 0 ? (
          <Button small onClick={begin}>
            <Shapes className="i sm" aria-hidden="true" /> {dialogTexts.begin.example}
          </Button>
        ) : null}
        <Button small onClick={() => file.current?.click()}>
          <FileUp className="i sm" aria-hidden="true" /> {dialogTexts.begin.compose}
        </Button>
        <input
          ref={file}
          type="file"
          hidden
          accept=".yaml,.yml"
          aria-label={dialogTexts.begin.compose}
          onChange={({ target }) => {
            const [chosen] = target.files ?? [];
            if (chosen) editing.compose(chosen);
            target.value = "";
          }}
        />
      </div>
      <p className="s t2">{dialogTexts.begin.composeHint}</p>
    </div>
  );
}
