import { plural } from "@/plural";

/** Texts of a log that are loaded with it. */
export const logTexts = {
  errors: (count: number) => plural(count, "error"),
  firstError: "Go to the first error",
  errorAt: (at: number, all: number) => `error ${at} of ${all}`,
  raw: "Show lines as they were written",
  attempt: (number: number) => `Attempt ${number}`,
  undo: (number: number) => (number === 1 ? "Undo" : `Undo, attempt ${number}`),
  place: (attempt: string, line: number) => `${attempt}, line ${line}`,
  line: (line: number) => `Line ${line}`,
  cause: "This line says why it failed.",
  levels: { error: "ERR", warn: "WRN", info: "INF", debug: "DBG" },
};
