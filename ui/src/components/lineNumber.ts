import { logTexts as t } from "@/components/logTexts";

/**
 * An agent numbers the lines of each attempt from a number of its own; those of an undo come after
 * all attempts. As in `pipeline/lineplace.go`.
 */
const OF_ATTEMPT = 2 ** 20;
const BEFORE_UNDO = 8;

/** Which attempt wrote a line; undefined for the first one, which needs no name. */
export function sayAttempt(number: number): string | undefined {
  const block = blockOf(number);
  if (block >= BEFORE_UNDO) return t.undo(block - BEFORE_UNDO + 1);
  return block > 0 ? t.attempt(block + 1) : undefined;
}

/** The line's number within its attempt. */
export function numberInAttempt(number: number): number {
  return number - blockOf(number) * OF_ATTEMPT;
}

/** Where a line is: "Line 7", "Attempt 2, line 1". */
export function sayLine(number: number): string {
  const attempt = sayAttempt(number);
  const line = numberInAttempt(number);
  return attempt ? t.place(attempt, line) : t.line(line);
}

function blockOf(number: number): number {
  return Math.max(0, Math.floor((number - 1) / OF_ATTEMPT));
}
