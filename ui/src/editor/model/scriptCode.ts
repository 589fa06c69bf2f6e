/** What the code field knows of a script's text: places of problems, and names that fit. */

const TOP = [
  ...["export default ({parameters, log}) => {", "export function remove({outputs, log}) {"],
  ...["parameters", "secrets", "outputs", "services", "deployment", "run", "log"],
  ...["const", "return", "async", "await", "throw new Error("],
];
const FIELDS: Record<string, string[]> = {
  deployment: ["id", "name", "environment", "project", "domain"],
  run: ["id", "step", "attempt"],
};

export type Known = {
  parameters: string[];
  secrets: string[];
  services: string[];
  outputs: string[];
};

/** The place that a problem's message begins with: “line 3, column 7: …”. */
export function placeOf(message: string): { line: number; column: number } | undefined {
  const found = /^line (\d+), column (\d+): /.exec(message);
  return found ? { line: Number(found[1]), column: Number(found[2]) } : undefined;
}

/** Where a line and column, both from 1, are in a text. */
export function offsetOf(text: string, line: number, column: number): number {
  const lines = text.split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  return Math.min(before + Math.min(column - 1, lines[line - 1]?.length ?? 0), text.length);
}

/** The names that fit at a place, and how much of them is there already. */
export function completionsAt(
  text: string,
  at: number,
  known: Known,
): { from: number; names: string[] } {
  const before = /(?:([A-Za-z_$][\w$]*)\.)?([\w$]*)$/.exec(text.slice(0, at));
  const [, of = "", begun = ""] = before ?? [];
  const all = of ? (FIELDS[of] ?? fieldsOf(of, known)) : TOP;
  const names = all.filter((name) => name !== begun && name.startsWith(begun));
  return { from: at - begun.length, names };
}

function fieldsOf(name: string, known: Known): string[] {
  return Object.hasOwn(known, name) ? known[name as keyof Known] : [];
}
