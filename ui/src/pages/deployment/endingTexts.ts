import type { Deployment, Schemas, Step } from "@/api/client";
import type { Reset } from "@/api/queries/activity";
import { formatAgo } from "@/components/time";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { deployTexts } from "@/pages/deployTexts";

// What the questions before an end say: to how much it happens, and what was known of its use.

const t = pageTexts;

/** What canceling undoes. Of what waits in the queue there is nothing. */
export function describeCancel(
  { status, steps_done, steps_total }: Deployment,
  steps: Step[],
): string {
  if (status === "queued") return t.cancelQueued;
  const known = steps.length > 0;
  const done = known ? steps.filter((step) => step.status === "done").length : steps_done;
  const all = known ? steps.length : steps_total;
  return t.cancelBody(Math.min(done + 1, all), all, done);
}

/** The volumes of the steps that run, as step/volume. */
export function volumesOf(of: Deployment, drawn: Schemas["Pipeline"]): string[] {
  return allVolumes(of, drawn).map(({ path }) => path);
}

/** Those of which the pipeline says that what is in them cannot be copied to another node. */
export function uncopyableVolumes(of: Deployment, drawn: Schemas["Pipeline"]): string[] {
  return allVolumes(of, drawn).flatMap(({ path, stays }) => (stays ? path : []));
}

function allVolumes({ services }: Deployment, { steps }: Schemas["Pipeline"]) {
  const running = new Set(services.map((service) => service.step));
  return steps
    .filter((step) => running.has(step.key))
    .flatMap(
      ({ key, service }) =>
        service?.volumes?.map(({ name, stays }) => ({ path: `${key}/${name}`, stays })) ?? [],
    );
}

/** Who used it last, and when; that it was made says nothing of that. */
export function describeLastUse(items: Reset[], now: number): string | undefined {
  const last = items.find((one) => one.kind !== "created");
  return last && t.removeUsed(deployTexts.life.resets[last.kind](last.by), formatAgo(last.at, now));
}
