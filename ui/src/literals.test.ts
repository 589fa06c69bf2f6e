// @vitest-environment node
import ts from "typescript";
import { expect, it } from "vitest";

/** All that draws, by its path. */
const files = import.meta.glob<string>(
  ["./**/*.tsx", "!./**/*.test.tsx", "!./pages/components/**"],
  {
    query: "?raw",
    import: "default",
    eager: true,
  },
);

/** Attributes that people read or hear. */
const SAID = ["alt", "aria-description", "aria-label", "label", "placeholder", "title"];

/** Keys, as they are written on keyboards. */
const KEYS = new Set(["Alt", "Ctrl", "Del", "End", "Enter", "Esc", "Home", "Shift", "Tab"]);

/** What is typed as it stands, in any language: an address, an image, a pattern, a token's head. */
const TYPED = /^\S*[./@*_]\S*$/;

/** Two letters in a row: less than that is a key, a sign or a unit. */
function isWord(text: string): boolean {
  if (TYPED.test(text)) return false;
  return text.split(" ").some((word) => /\p{L}{2}/u.test(word) && !KEYS.has(word));
}

/** What a file says to people that stands in no catalogue. */
function spoken(file: string, text: string): string[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
  const out: string[] = [];
  const note = (words: string) => {
    const said = words.replace(/\s+/g, " ").trim();
    if (isWord(said)) out.push(`${file}: ${said}`);
  };
  const visit = (node: ts.Node) => {
    if (ts.isJsxText(node)) note(node.text);
    if (ts.isJsxAttribute(node) && SAID.includes(node.name.getText())) literals(node, note);
    // What is computed between tags; what is given to elements inside is seen as it comes.
    if (ts.isJsxExpression(node) && !ts.isJsxAttribute(node.parent) && node.expression)
      results(node.expression, note);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return out;
}

/** The value of an attribute. */
function literals({ initializer }: ts.JsxAttribute, note: (text: string) => void) {
  if (initializer && ts.isStringLiteral(initializer)) note(initializer.text);
  if (initializer && ts.isJsxExpression(initializer) && initializer.expression)
    results(initializer.expression, note);
}

/** The texts that an expression may come to. */
function results(node: ts.Expression, note: (text: string) => void) {
  if (ts.isStringLiteralLike(node)) note(node.text);
  else if (ts.isTemplateExpression(node))
    note([node.head.text, ...node.templateSpans.map((span) => span.literal.text)].join(" "));
  else if (ts.isConditionalExpression(node)) {
    results(node.whenTrue, note);
    results(node.whenFalse, note);
  } else if (ts.isParenthesizedExpression(node)) results(node.expression, note);
  else if (ts.isBinaryExpression(node)) results(node.right, note);
}

it("finds what is written between tags and in attributes, whichever way it comes there", () => {
  const text = `<p title="Go on">Say {ready ? "yes" : \`not \${when}\`} <kbd>Ctrl K</kbd></p>`;
  expect(spoken("x.tsx", text).map((one) => one.replace(/^.*: /, ""))).toEqual([
    "Go on",
    "Say",
    "yes",
    "not",
  ]);
});

// The page of all components shows made-up names and commands, which are examples too.
it("what people read stands in a catalogue, where it can be translated", () => {
  const all = Object.entries(files);
  expect(all.length).toBeGreaterThan(100);
  expect(all.flatMap(([file, text]) => spoken(file, text))).toEqual([]);
});
