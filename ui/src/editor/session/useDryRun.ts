import { useMutation, useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { ask, client } from "@/api/client";
import { environments } from "@/api/queries/catalog";
import { loadChunk } from "@/components/loadChunk";
import type { Catalogue } from "../model/catalogue";
import type { Pins } from "../model/pins";
import { type DryRunResult, resultOf } from "./dryFindings";
import type { Run, Tags } from "./scratchBody";
import { useScratchRun } from "./scratchRun";

const NO_PINS: Pins = new Map();

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
  const [pins, setPins] = useState(NO_PINS);
  /** The scratch deployment of this editor: there is one at a time. */
  const made = useRef<string>(undefined);
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
          body: await scratchOf("dry-run", run, catalogue, tags, NO_PINS),
        }),
      ),
    onSuccess: ({ checks }, run) => onDryRun(resultOf(run.doc, checks)),
  });
  const branch = useMutation({
    mutationFn: async (run: Run) =>
      ask(
        client.POST("/api/v1/projects/{name}/pipeline/scratch", {
          params: { path },
          body: await scratchOf("scratch", run, catalogue, tags, pins),
        }),
      ),
    onSuccess: ({ id }) => {
      const before = made.current;
      made.current = id;
      // Who cannot remove it, because it is held or gone, has lost nothing: its hour passes.
      if (before)
        void runs()
          .then(({ removeScratch }) => removeScratch(before))
          .catch(() => undefined);
    },
  });
  const scratchRun = useScratchRun(branch.data);
  const pin = (step: string, outputs: Record<string, string> | undefined) => {
    const rest = [...pins].filter(([key]) => key !== step);
    setPins(new Map(outputs ? [...rest, [step, outputs]] : rest));
  };
  const environment = chosen ?? all.data?.[0]?.name;
  const selectable = (name: string) => catalogue.services.get(name)?.tag_mode === "selectable";
  const picked = { tags, pick, selectable, typed, type };
  const running = { pins, pin, branch, scratchRun };
  return { environments: all, environment, choose, ...picked, check, ...running };
}

/** Loaded with the first run. */
const runs = () => loadChunk(() => import("./scratchBody"));

async function scratchOf(...of: Parameters<Awaited<ReturnType<typeof runs>>["scratchBody"]>) {
  return (await runs()).scratchBody(...of);
}

function withTag(tags: Tags, step: string, tag: string | undefined): Tags {
  const rest = [...tags].filter(([key]) => key !== step);
  return new Map(tag === undefined ? rest : [...rest, [step, tag]]);
}

export type DryRuns = ReturnType<typeof useDryRun>;
