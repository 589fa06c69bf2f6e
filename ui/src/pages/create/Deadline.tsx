import { Field } from "@/components/Field";
import { deployTexts } from "@/pages/deployTexts";

const t = deployTexts.deadline;

/** The API takes 30 days at most. */
const MOST = 30 * 24 * 60;

/** What was typed as minutes, in the API's seconds; nothing when it is for ever, and NaN when it is no time. */
export function deadlineSeconds(minutes: string): number | undefined {
  const text = minutes.trim();
  if (text === "") return undefined;
  const count = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
  return count >= 1 && count <= MOST ? count * 60 : Number.NaN;
}

/** The sentence at the field when what is in it is no time. */
export const deadlineProblem = (minutes: string) =>
  Number.isNaN(deadlineSeconds(minutes)) ? t.wrong : undefined;

type Props = { value: string; error?: string; set: (minutes: string) => void };

/** How long it may take until it is ready. */
export function Deadline({ value, error, set }: Props) {
  return (
    <Field
      label={t.label}
      hint={t.hint}
      inputMode="numeric"
      autoComplete="off"
      value={value}
      error={error}
      onChange={(event) => set(event.target.value)}
    />
  );
}
