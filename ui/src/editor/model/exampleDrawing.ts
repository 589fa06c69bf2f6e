import type { Catalogue } from "./catalogue";
import type { Doc, Spot, Step } from "./document";

/** A drawing of at most so many services is read at a glance. */
const MOST = 3;
const APART = 240;

/**
 * A drawing to begin with, of the services that there are: those of one version first, such as
 * databases, then those that people choose versions of; each knows where the one before it is.
 */
export function exampleDrawing(
  catalogue: Catalogue,
  newStep: (what: string, at: Spot) => Step,
): Doc {
  const all = [...catalogue.services.values()];
  const pinned = all.filter((one) => one.tag_mode === "pinned");
  const chosen = all.filter((one) => one.tag_mode !== "pinned");
  const names = [...pinned.slice(0, MOST - Math.min(2, chosen.length)), ...chosen]
    .slice(0, MOST)
    .map((one) => one.name);
  const steps: Step[] = [];
  for (const [at, name] of names.entries()) {
    const step = newStep(`service:${name}`, { x: at * APART, y: 0 });
    const before = steps.at(-1);
    steps.push(before ? after(step, before.key) : step);
  }
  return { steps, comments: [] };
}

/** A service that runs after another, and has its host in a variable. */
function after(step: Step, before: string): Step {
  const variable = `${before}_HOST`.toUpperCase().replace(/[^A-Z0-9]+/g, "_");
  const env = { ...step.service?.env, [variable]: `\${{ services.${before}.host }}` };
  return {
    ...step,
    needs: [before],
    service: { ...step.service, name: step.service?.name ?? "", env },
  };
}
