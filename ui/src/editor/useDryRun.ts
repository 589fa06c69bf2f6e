import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { environments } from "@/api/queries/catalog";
import { isSilence } from "@/api/queries/common";
import type { Catalogue } from "./catalogue";
import { type Dry, found } from "./dryFindings";
import { type Doc, pipelineOf } from "./model";

/**
 * What is run: a drawing as it was when somebody asked. It goes with the question, since the page may
 * have drawn on when the answer comes.
 */
type Run = { doc: Doc; environment: string; step?: string };

/** The dry run and the branches of one editor. They outlive the panel that shows them. */
export function useDryRun(project: string, catalogue: Catalogue, onDryRun: (dry: Dry) => void) {
  const all = useQuery(environments);
  const [chosen, setChosen] = useState<string>();
  const path = { name: project };
  const check = useMutation({
    mutationFn: async (run: Run) =>
      ask(
        client.POST("/api/v1/projects/{name}/pipeline/preflight", {
          params: { path },
          body: await scratch("dry-run", run, catalogue),
        }),
      ),
    onSuccess: ({ checks }, run) => onDryRun(found(run.doc, checks)),
  });
  const branch = useMutation({
    mutationFn: async (run: Run) =>
      ask(
        client.POST("/api/v1/projects/{name}/pipeline/scratch", {
          params: { path },
          body: await scratch("scratch", run, catalogue),
        }),
      ),
  });
  const environment = chosen ?? all.data?.[0]?.name;
  return { environments: all, environment, choose: setChosen, check, branch };
}

export type DryRuns = ReturnType<typeof useDryRun>;

async function scratch(
  word: string,
  { doc, environment, step }: Run,
  catalogue: Catalogue,
): Promise<Schemas["Scratch"]> {
  return {
    name: freshName(word, step),
    environment,
    pipeline: pipelineOf(doc),
    versions: await newest(doc, catalogue),
    steps: step ? [step] : undefined,
  };
}

/** A name that no deployment has. */
function freshName(word: string, step = ""): string {
  const of = step.slice(0, 20).replace(/-+$/, "");
  return [word, of, Date.now().toString(36)].filter(Boolean).join("-");
}

/** The newest tag of each service whose version people choose; what has none, the check tells. */
async function newest(doc: Doc, catalogue: Catalogue): Promise<Record<string, string>> {
  const names = new Set(doc.steps.flatMap(({ service }) => service?.name ?? []));
  const tags = new Map(
    await Promise.all(
      [...names].map(async (name) => [name, await tagOf(name, catalogue)] as const),
    ),
  );
  return Object.fromEntries(
    doc.steps.flatMap(({ key, service }) => {
      const tag = service && tags.get(service.name);
      return tag ? [[key, tag]] : [];
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
