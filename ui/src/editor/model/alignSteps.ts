import { canonical, type Doc, kindOf, type Step, stepOf, withoutCatalogueCopy } from "./document";
import { freeKey, renameInStep, renameStep } from "./edit";
import { fieldsOf, isSameValue } from "./stepFields";

/** Three drawings in which one step has one name. */
export type Aligned = {
  base: Doc;
  mine: Doc;
  theirs: Doc;
  /** What my steps are called now, where that is something else. */
  names: Map<string, string>;
  /** What my side, and theirs, renamed: from → to, as they are called now. */
  byMe: Map<string, string>;
  byThem: Map<string, string>;
};

/**
 * Gives what is one step one name in all three, and what are two steps two. A step that one side
 * renamed and the other edited is one; steps that got the same name on both sides are two, and mine
 * takes another name.
 */
export function alignSteps(base: Doc, mine: Doc, theirs: Doc): Aligned {
  const [m, t] = [renames(base, mine), renames(base, theirs)];
  const out: Aligned = { base, mine, theirs, names: new Map(), byMe: new Map(), byThem: new Map() };
  for (const [from, to] of m) if (t.get(from) === to) out.base = renameStep(out.base, from, to);
  apart(out);
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

/** Two steps that got the same name on both sides are two, but for a save whose answer was lost. */
function apart(out: Aligned) {
  const taken = new Set([...out.theirs.steps, ...out.base.steps].map((step) => step.key));
  for (const step of out.mine.steps) {
    const their = stepOf(out.theirs, step.key);
    if (stepOf(out.base, step.key) || !their || isSameValue(whole(step), whole(their))) continue;
    const to = freeKey(out.mine, step.key, taken);
    out.mine = renameStep(out.mine, step.key, to);
    out.names.set(step.key, to);
  }
}

function whole(step: Step) {
  return [...fieldsOf(withoutCatalogueCopy(step))].sort();
}

/**
 * What was renamed since: a step that is gone, and a new one that stands where it stood or says all
 * that it said. A name says nothing of what a step was called before, so it is told by these.
 */
function renames(old: Doc, now: Doc): Map<string, string> {
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
  return isSameValue(said(was, was.key), said(is, was.key));
}

function nameOf(step: Step): string | undefined {
  return step.service?.name ?? step.plugin?.name;
}

/** What a step says, apart from where it stands and what it waits for. */
function said(step: Step, key: string) {
  const {
    position: _,
    needs: __,
    ...rest
  } = renameInStep(withoutCatalogueCopy(step), new Map([[step.key, key]]));
  return rest;
}
