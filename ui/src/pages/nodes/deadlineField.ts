import { minuteOf } from "@/components/time";

/** A moment as the field has it, by the reader's clock; "" for none. */
export const formatDeadline = (at: string | undefined): string =>
  at ? minuteOf(new Date(at)) : "";

/** What the field means: a moment, none when it is empty, or that it is over already. */
export function parseDeadline(text: string, now: number): { deadline?: string; past?: true } {
  if (text === "") return {};
  const at = new Date(text).getTime();
  return at > now ? { deadline: new Date(at).toISOString() } : { past: true };
}
