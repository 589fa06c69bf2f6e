import ts from "typescript";
import { expect, it } from "vitest";

/** Lines of a function, beyond which it is split by what it does. */
const MOST_LINES = 150;

const files = ts.sys
  .readDirectory("src", [".ts", ".tsx"], ["**/*.gen.ts"])
  .filter((file) => !/\.test\.tsx?$/.test(file));

function lengthsOf(file: string): { name: string; lines: number }[] {
  const kind = file.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
  const text = ts.sys.readFile(file) ?? "";
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true, kind);
  const lineAt = (position: number) => source.getLineAndCharacterOfPosition(position).line;
  const found: { name: string; lines: number }[] = [];
  const visit = (node: ts.Node) => {
    if (ts.isFunctionLike(node)) {
      const name = node.name?.getText() ?? "a function without a name";
      found.push({
        name: `${file}: ${name}`,
        lines: lineAt(node.end) - lineAt(node.getStart()) + 1,
      });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

it("has no function or component that is too long", () => {
  const all = files.flatMap(lengthsOf);
  expect(all.length).toBeGreaterThan(3000);
  expect(all.filter((one) => one.lines > MOST_LINES)).toEqual([]);
});
