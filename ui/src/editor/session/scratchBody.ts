import { ask, client, type Schemas } from "@/api/client";
import { isSilence } from "@/api/queries/common";
import type { Catalogue } from "../model/catalogue";
import { containerOf, type Doc, pipelineOf } from "../model/document";
import { type Pins, pinnedOutputs } from "../model/pins";

/**
 * The document that the dry run was started with. It travels with the request, since the user may
 * have edited it when the response arrives.
 */
export type Run = { doc: Doc; environment: string; step?: string; input?: Schemas["Input"] };
export type Tags = ReadonlyMap<string, string>;

/** The body of a dry run, and of a run of a branch. */
export async function scratchBody(
  word: string,
  { doc, environment, step, input }: Run,
  catalogue: Catalogue,
  tags: Tags,
  pins: Pins,
): Promise<Schemas["Scratch"]> {
  const pinned = step ? pinnedOutputs(doc, step, catalogue, pins) : {};
  return {
    name: freshName(word, step),
    environment,
    pipeline: pipelineOf(doc),
    versions: await versionsOf(doc, catalogue, tags),
    steps: step ? [step] : undefined,
    pinned: Object.keys(pinned).length > 0 ? pinned : undefined,
    input,
  };
}

/** A name that no deployment has. */
function freshName(word: string, step = ""): string {
  const of = step.slice(0, 20).replace(/-+$/, "");
  return [word, of, Date.now().toString(36)].filter(Boolean).join("-");
}

/** The tag that was chosen for a step, or the usual one of its service; what has none, the check tells. */
async function versionsOf(
  doc: Doc,
  catalogue: Catalogue,
  tags: Tags,
): Promise<Record<string, string>> {
  const open = doc.steps.filter((step) => containerOf(step) && !tags.has(step.key));
  const names = new Set(open.flatMap((step) => containerOf(step)?.name ?? []));
  const usual = new Map(
    await Promise.all(
      [...names].map(async (name) => [name, await tagOf(name, catalogue)] as const),
    ),
  );
  return Object.fromEntries(
    doc.steps.flatMap((step) => {
      const name = containerOf(step)?.name;
      const tag = name && (tags.get(step.key) ?? usual.get(name));
      return tag ? [[step.key, tag]] : [];
    }),
  );
}

async function tagOf(name: string, catalogue: Catalogue): Promise<string | undefined> {
  const known = catalogue.services.get(name);
  if (known?.tag_mode !== "selectable") return undefined;
  if (known.tag) return known.tag;
  try {
    const list = await ask(
      client.GET("/api/v1/services/{name}/tags", {
        params: { path: { name }, query: { limit: 1 } },
      }),
    );
    return list.default ?? list.items[0]?.tag;
  } catch (error) {
    if (isSilence(error)) throw error;
    return undefined;
  }
}

/** The outputs of a step in the newest deployment of the project that is ready; none without one. */
export async function lastOutputs(project: string, key: string) {
  const query = { project, status: ["ready" as const], limit: 1 };
  const { items } = await ask(client.GET("/api/v1/deployments", { params: { query } }));
  const [last] = items;
  if (!last) return undefined;
  const { id, run } = last;
  const { steps } = await ask(
    client.GET("/api/v1/deployments/{id}/runs/{run}", { params: { path: { id, run } } }),
  );
  return steps.find((step) => step.key === key)?.outputs;
}

export function removeScratch(id: string) {
  return ask(client.DELETE("/api/v1/deployments/{id}", { params: { path: { id } } }));
}
