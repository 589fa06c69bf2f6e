import { Plus } from "lucide-react";
import { Button } from "@/components/Button";
import { editorTexts } from "@/editor/editorTexts";
import { writeField } from "../model/document";
import { proposalsOf, type ServiceImage, takeAll } from "../model/imageAdvice";
import { Group, type StepFormProps } from "./records";

const t = editorTexts.image;

/** What the image says about itself and the step does not yet; each can be taken over, or all. */
export function ImageProposals(props: StepFormProps & { image?: ServiceImage }) {
  const { step, image, onChange, onStep } = props;
  const all = proposalsOf(step, image);
  if (!image) return null;
  return (
    <Group title={t.title(image.tag)} hint={image.user ? t.user(image.user) : undefined}>
      {all.length === 0 ? <span className="t3 s">{t.nothing}</span> : null}
      {all.map((one) => (
        <div key={one.id} className="row">
          <span className="grow">{one.label}</span>
          <Button
            small
            icon
            aria-label={t.take(one.label)}
            title={t.take(one.label)}
            onClick={() => onChange(one.path, one.value)}
          >
            <Plus className="i sm" aria-hidden="true" />
          </Button>
        </div>
      ))}
      {all.length > 1 ? (
        <Button
          small
          className="self-start"
          onClick={() => onStep((now) => takeAll(now, image, writeField))}
        >
          {t.takeAll}
        </Button>
      ) : null}
    </Group>
  );
}
