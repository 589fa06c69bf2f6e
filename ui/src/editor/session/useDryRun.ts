import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { environments } from "@/api/queries/catalog";
import { isSilence } from "@/api/queries/common";
import type { Catalogue } from "../model/catalogue";
import { containerOf, type Doc, pipelineOf } from "../model/document";
import { type DryRunResult, resultOf } from "./dryFindings";

/**
 * The document that the dry run was started with. It travels with the request, since the user may
 * have edited it when the response arrives.
 */
type Run = { doc: Doc; environment: string; step?: string; input?: Schemas["Input"] };
type Tags = ReadonlyMap<string, string>;

/** The dry run and the branches of one editor. They outlive the panel that shows them. */
export function useDryRun(
  project: string,
  catalogue: Catalogue,
  onDryRun: (dry?: DryRunResult) => void,
) {
  const all = useQuery(environments);
  const [chosen, setChosen] = useState<string>();
  const [tags, setTags] = useState<Tags>(new Map());
  /** What was typed of the input, by field. */
  const [typed, setTyped] = useState<Record<string, string>>({});
  // What was found is of what was chosen then.
  const choose = (environment: string) => {
    setChosen(environment);
    onDryRun(undefined);
  };
  const pick = (step: string, tag: string | undefined) => {
    setTags(withTag(tags, step, tag));
    onDryRun(undefined);
  };
  const type = (name: string, text: string) => {
    setTyped({ ...typed, [name]: text });
    onDryRun(undefined);
  };
  const path = { name: project };
  const check = useMutation({
    mutationFn: async (run: Run) =>
      ask(
        client.POST("/api/v1/projects/{name}/pipeline/preflight", {
          params: { path },
          body: await scratch("dry-run", run, catalogue, tags),
        }),
      ),
    onSuccess: ({ checks }, run) => onDryRun(resultOf(run.doc, checks)),
  });
  const branch = useMutation({
    mutationFn: async (run: Run) =>
      ask(
        client.POST("/api/v1/projects/{name}/pipeline/scratch", {
          params: { path },
          body: await scratch("scratch", run, catalogue, tags),
        }),
      ),
  });
  const environment = chosen ?? all.data?.[0]?.name;
  const selectable = (name: string) => catalogue.services.get(name)?.tag_mode === "selectable";
  const picked = { tags, pick, selectable, typed, type };
  return { environments: all, environment, choose, ...picked, check, branch };
}

function withTag(tags: Tags, step: string, tag: string | undefined): Tags {
  const rest = [...tags].filter(([key]) => key !== step);
  return new Map(tag === undefined ? rest : [...rest, [step, tag]]);
}

export type DryRuns = ReturnType<typeof useDryRun>;

async function scratch(
  word: string,
  { doc, environment, step, input }: Run,
  catalogue: Catalogue,
  tags: Tags,
): Promise<Schemas["Scratch"]> {
  return {
    name: freshName(word, step),
    environment,
    pipeline: pipelineOf(doc),
    versions: await versionsOf(doc, catalogue, tags),
    steps: step ? [step] : undefined,
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
