import ts from "typescript";
import { expect, it } from "vitest";

/** What is drawn like a map or a chart, from left to right in every language. */
const DRAWN = /\.react-flow|\.tltick|\.tl(part|key)\b|\.guide\.x/;

const ONE_SIDE = /(?:margin|padding|border)-(?:left|right)\b|text-align: (?:left|right)\b/;
const FOUR = /(?:^|[\s;{])(?:margin|padding|inset): (\S+) (\S+) (\S+) (\S+)(?=[;\s}]|$)/;

/** Whether a declaration names the left or the right, or has four values whose second and fourth differ. */
function takesASide(declaration: string): boolean {
  const four = FOUR.exec(declaration);
  return ONE_SIDE.test(declaration) || (four !== null && four[2] !== four[4]);
}

it("knows a side when it sees one", () => {
  for (const one of ["margin-left: 4px", "inset: 0 auto 0 0", "padding: 0 4px 0 8px"])
    expect(takesASide(one)).toBe(true);
  for (const one of ["margin-inline-start: 4px", "inset: 0 4px 8px 4px", "padding: 0 4px"])
    expect(takesASide(one)).toBe(false);
});

it("aligns by start and end, so that a page is mirrored whole where people read from the right", () => {
  const files = ts.sys.readDirectory("src", [".css"], ["**/gallery.css"]);
  expect(files.length).toBeGreaterThan(15);
  const sided = files.flatMap((file) =>
    (ts.sys.readFile(file) ?? "")
      .split("\n")
      .filter((line) => !DRAWN.test(line) && line.split(";").some(takesASide))
      .map((line) => `${file}: ${line.trim()}`),
  );
  expect(sided).toEqual([]);
});
