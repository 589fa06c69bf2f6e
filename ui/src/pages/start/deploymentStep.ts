import type { Deployment } from "@/api/client";
import { startTexts } from "@/pages/start/startTexts";
import type { StartStep } from "./startStep";

const t = startTexts.steps.deployment;
const anew = { kind: "page", to: "/deployments/new", label: t.act } as const;

type Said = Pick<StartStep, "text" | "state" | "way">;

/** How the newest deployment is, unless one is ready already. A try of a drawing is none. */
export function deploymentStep(all: Deployment[]): StartStep {
  const deployments = all.filter((one) => !one.scratch);
  const base = { key: "deployment", title: t.title, minutes: 2 } as const;
  const ready = deployments.find((one) => one.status === "ready");
  if (ready) return { ...base, text: t.done(ready.name), done: true, way: openDeployment(ready) };
  const [newest] = deployments;
  if (!newest) return { ...base, text: t.todo, done: false, way: anew };
  return { ...base, done: false, ...describeState(newest) };
}

const openDeployment = ({ id }: Deployment) => ({ kind: "deployment", id, label: t.look }) as const;

function describeState(one: Deployment): Said {
  const { name, status, steps_done: done, steps_total: all } = one;
  const way = openDeployment(one);
  const why = (text: string) => [text, one.detail].filter(Boolean).join(" ");
  if (one.question) return { text: t.asks(name), state: "stuck", way };
  if (status === "queued") return { text: why(t.queued(name)), state: "wait", way };
  if (status === "applying") return { text: t.running(name, done, all), state: "wait", way };
  if (status === "stuck") return { text: t.stuck(name), state: "stuck", way };
  if (status === "failed" || status === "undoing")
    return { text: t.failed(name), state: "failed", way };
  return { text: t.ended(name), way: anew };
}
