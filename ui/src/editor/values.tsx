import { Safe } from "@/components/Safe";
import { editorTexts } from "@/editorTexts";

/** A field's value in a comparison: as it is written, and safely. */
export function Shown({ value }: { value: unknown }) {
  if (value === undefined) return <span className="t3">{editorTexts.merge.absent}</span>;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return (
    <span className="mono vl">
      <Safe text={text.length > 400 ? `${text.slice(0, 400)}…` : text} />
    </span>
  );
}
