// What a screen reader is told of a page: each control has a name, no two in one place the same, and the page a heading.
import { check } from "./browser.mjs";

/** What can be acted on; an option or a menu's entry is told by its list. */
const CONTROLS =
  /^(button|link|textbox|searchbox|combobox|checkbox|radio|switch|slider|spinbutton|tab)$/;
/** Where a name has to tell one control from another: a row, an entry, a named part. */
const PLACES = /^(row|listitem|article|dialog|region|form|group|navigation|complementary|toolbar)$/;

/** A line of the tree: how deep it is, its role, and its name; one that is told by its content has that. */
const NODE = /^(\s*)- ([a-z]+)(?: "((?:[^"\\]|\\.)*)")?(?: \[[^\]]*\])*(?::(?: (.+))?)?$/;
/** YAML quotes what has a colon in it. */
const QUOTED = /^(\s*- )'((?:[^']|'')*)'(.*)$/;

/** A sheet's cross and the button at its foot are one act. */
const ONE_ACT = ["Close"];

/** The tree as roles and names, each with the place that it is in. */
function nodes(snapshot) {
  const above = [];
  return snapshot.split("\n").flatMap((line, number) => {
    const plain = line.replace(
      QUOTED,
      (_, head, text, tail) => head + text.replaceAll("''", "'") + tail,
    );
    const [, space, role, name, content] = NODE.exec(plain) ?? [];
    if (!role || role === "text") return [];
    above.length = Math.min(above.length, space.length / 2);
    const place = above.findLast((one) => one && PLACES.test(one.role));
    const one = { role, name: name ?? content ?? "", number, place };
    above[space.length / 2] = one;
    return [one];
  });
}

const where = ({ place }) => (place ? `${place.role} “${place.name}”` : "the page");

/** Fails on a control without a name, on two of one name in one place, and without a first heading. */
export async function named(page, path) {
  check((await page.getByRole("heading", { level: 1 }).count()) > 0, `${path}: no first heading`);
  const tree = nodes(await page.locator("body").ariaSnapshot());
  const controls = tree.filter(({ role }) => CONTROLS.test(role));
  check(controls.length > 0, `${path}: no control was read of it`);
  const unnamed = controls.filter(({ name }) => name === "");
  const without = unnamed.map((one) => `${one.role} in ${where(one)}`);
  check(without.length === 0, `${path}: without a name: ${without.join("; ")}`);
  const seen = new Set();
  const twice = controls.filter(({ role, name, place }) => {
    const key = `${place?.number} ${role} ${name}`;
    return place && !ONE_ACT.includes(name) && (seen.has(key) || !seen.add(key));
  });
  const said = twice.map((one) => `${one.role} “${one.name}” in ${where(one)}`);
  check(said.length === 0, `${path}: twice the same: ${said.join("; ")}`);
}
