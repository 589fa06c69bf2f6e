import { Field } from "@/components/Field";
import { deployTexts } from "@/pages/deployTexts";

const t = deployTexts.requiredLabels;

/** What was typed as labels, with spaces or commas between; nothing when there is none. */
export function requiredLabels(text: string): string[] | undefined {
  const labels = text.split(/[\s,]+/).filter(Boolean);
  return labels.length > 0 ? labels : undefined;
}

type Props = { value: string; error?: string; set: (text: string) => void };

/** Which labels the node must have on which it will run. */
export function RequiredLabels({ value, error, set }: Props) {
  return (
    <Field
      label={t.label}
      hint={t.hint}
      mono
      spellCheck={false}
      autoCapitalize="none"
      autoComplete="off"
      value={value}
      error={error}
      onChange={(event) => set(event.target.value)}
    />
  );
}
