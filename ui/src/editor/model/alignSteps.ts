import {
  canonical,
  containerOf,
  type Doc,
  kindOf,
  type Step,
  stepOf,
  withoutCatalogueCopy,
} from "./document";
import { freeKey, renameInStep, renameStep } from "./edit";
import { fieldsOf, isSameValue } from "./stepFields";

/** Three documents in which each step has the same key. */
export type Aligned = {
  base: Doc;
  mine: Doc;
  theirs: Doc;
  /** Renames that this applied to my steps. */
  names: Map<string, string>;
  /** Renames that my side and their side made, from → to. */
  byMe: Map<string, string>;
  byThem: Map<string, string>;
};

/**
 * Makes keys agree across base, mine and theirs. A step that one side renamed and the other edited
 * is one step. Steps that both sides created under the same key are two, and mine gets another key.
 */
export function alignSteps(base: Doc, mine: Doc, theirs: Doc): Aligned {
  const [m, t] = [detectRenames(base, mine), detectRenames(base, theirs)];
  const out: Aligned = { base, mine, theirs, names: new Map(), byMe: new Map(), byThem: new Map() };
  for (const [from, to] of m) if (t.get(from) === to) out.base = renameStep(out.base, from, to);
  separateNewSteps(out);
  for (const [from, drawn] of m) {
    const to = out.names.get(drawn) ?? drawn;
    if (t.has(from) || !stepOf(theirs, from)) continue;
    out.base = renameStep(out.base, from, to);
    out.theirs = renameStep(out.theirs, from, to);
    out.byMe.set(from, to);
  }
  for (const [from, to] of t) {
    if (m.has(from) || !stepOf(mine, from)) continue;
    out.base = renameStep(out.base, from, to);
    out.mine = renameStep(out.mine, from, to);
    out.names.set(from, to);
    out.byThem.set(from, to);
  }
  return out;
}

/**
 * Equal keys created on both sides are two steps, unless it is our own save whose response was
 * lost.
 */
function separateNewSteps(out: Aligned) {
  const taken = new Set([...out.theirs.steps, ...out.base.steps].map((step) => step.key));
  for (const step of out.mine.steps) {
    const their = stepOf(out.theirs, step.key);
    if (
      stepOf(out.base, step.key) ||
      !their ||
      isSameValue(sortedFields(step), sortedFields(their))
    )
      continue;
    const to = freeKey(out.mine, step.key, taken);
    out.mine = renameStep(out.mine, step.key, to);
    out.names.set(step.key, to);
  }
}

function sortedFields(step: Step) {
  return [...fieldsOf(withoutCatalogueCopy(step))].sort();
}

/**
 * Detects renames, which documents do not record: a missing step and a new one with the same
 * position or the same content.
 */
function detectRenames(old: Doc, now: Doc): Map<string, string> {
  const gone = old.steps.filter((step) => !stepOf(now, step.key));
  const came = new Set(now.steps.filter((step) => !stepOf(old, step.key)));
  const out = new Map<string, string>();
  for (const was of gone) {
    const is = [...came].find((one) => isSame(was, one));
    if (!is) continue;
    came.delete(is);
    out.set(was.key, is.key);
  }
  return out;
}

function isSame(was: Step, is: Step): boolean {
  if (kindOf(was) !== kindOf(is) || nameOf(was) !== nameOf(is)) return false;
  if (was.position && canonical(was.position) === canonical(is.position)) return true;
  return isSameValue(contentOf(was, was.key), contentOf(is, was.key));
}

function nameOf(step: Step): string | undefined {
  return containerOf(step)?.name ?? step.plugin?.name;
}

/** A step's content without its position and its edges. */
function contentOf(step: Step, key: string) {
  const {
    position: _,
    needs: __,
    ...rest
  } = renameInStep(withoutCatalogueCopy(step), new Map([[step.key, key]]));
  return rest;
}
