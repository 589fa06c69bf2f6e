import { useQuery } from "@tanstack/react-query";
import { useMemo, useState, useSyncExternalStore } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { environments } from "@/api/queries/catalog";
import { useDebounced } from "@/components/useDebounced";
import type { Catalogue } from "../model/catalogue";
import { type Doc, pipelineOf } from "../model/document";
import type { Samples } from "../model/environment";
import { byStep, fromServer, type Problem, problemsOf } from "../model/problems";
import { RETRY_WHILE_SILENT } from "./refetchPolicy";
import { problemsOfRefusal } from "./serverProblems";
import { UnparsedInputs, unparsedProblems } from "./unparsedInputs";

/** Delay between the last edit and the validation request, in ms. */
const QUIET = 350;

export type ServerCheck = "asked" | "asking" | "silent";

type Found = {
  all: Problem[];
  asked: ServerCheck;
  /** Inputs whose text cannot be parsed yet. */
  unread: UnparsedInputs;
  /** Whether publishing would create a new version; undefined until the server has answered. */
  changes?: boolean;
};

/**
 * The problems of the document. This page finds some at once; the server, which is authoritative,
 * validates after a pause in typing. It is asked again when the window regains focus, since
 * services and secrets change elsewhere, and while it does not answer.
 */
export function useProblems(project: string, doc: Doc, catalogue: Catalogue): Found {
  const still = useDebounced(doc, QUIET);
  const query = useQuery({
    queryKey: ["project", project, "validate", numberOf(still)],
    queryFn: ({ signal }) =>
      ask(
        client.POST("/api/v1/projects/{name}/pipeline/validate", {
          params: { path: { name: project } },
          body: { pipeline: pipelineOf(still) },
          signal,
        }),
      ),
    // Each document is a key of its own, so old results are useless.
    gcTime: 10_000,
    ...RETRY_WHILE_SILENT,
  });
  const [unread] = useState(() => new UnparsedInputs());
  const held = useSyncExternalStore(unread.subscribe, unread.get);
  const own = useMemo(() => problemsOf(doc, catalogue), [doc, catalogue]);
  const fresh = still === doc;
  const refused = useMemo(() => problemsOfRefusal(query.error, still), [query.error, still]);
  const { problems: answer, changes } = (fresh ? query.data : undefined) ?? {};
  const all = useMemo(
    () => [
      ...unparsedProblems(held, doc),
      ...(fresh && refused.length > 0 ? addUnreported(own, refused) : combineProblems(own, answer)),
    ],
    [held, doc, own, answer, fresh, refused],
  );
  const asked = fresh ? askedOf(query, refused.length > 0) : "asking";
  return useMemo(() => ({ all, unread, changes, asked }), [all, unread, changes, asked]);
}

type Answer = { data?: unknown; error: unknown; failureReason: unknown; fetchStatus: string };

/** A refusal that is about the document counts as a result; any other error does not. */
function askedOf(
  { data, error, failureReason, fetchStatus }: Answer,
  refused: boolean,
): ServerCheck {
  if (error) return refused ? "asked" : "silent";
  if (failureReason || fetchStatus === "paused") return "silent";
  return data ? "asked" : "asking";
}

/** The server's problems win; advice comes from this page only. */
function combineProblems(own: Problem[], answer?: Schemas["FieldProblem"][]): Problem[] {
  return answer ? [...fromServer(answer), ...own.filter((one) => one.advice)] : own;
}

/**
 * Adds problems of a request body that the server could not parse, unless this page reports the
 * same field.
 */
function addUnreported(own: Problem[], refused: Problem[]): Problem[] {
  const placeOf = ({ step, field }: Problem) => `${step} ${field}`;
  const known = new Set(own.filter((one) => !one.advice).map(placeOf));
  return [...own, ...refused.filter((one) => !known.has(placeOf(one)))];
}

const numbers = new WeakMap<Doc, number>();
let last = 0;

/** A number per document for the query key, which would otherwise serialize the whole document. */
function numberOf(doc: Doc): number {
  const known = numbers.get(doc);
  if (known !== undefined) return known;
  last += 1;
  numbers.set(doc, last);
  return last;
}

/** Problems by step. A list keeps its identity while its content is unchanged. */
export function useByStep(problems: Problem[]): Map<string, Problem[]> {
  const [known] = useState(() => new Map<string, Problem[]>());
  return useMemo(() => {
    const next = byStep(problems);
    for (const [key, list] of next) {
      const old = known.get(key);
      if (old && JSON.stringify(old) === JSON.stringify(list)) next.set(key, old);
    }
    known.clear();
    for (const [key, list] of next) known.set(key, list);
    return next;
  }, [problems, known]);
}

/** The names that previews use in place of a deployment's. */
export function useSample(project: string): Samples {
  const all = useQuery(environments).data;
  const [name, choose] = useState<string>();
  return useMemo(() => {
    const chosen = all?.find((one) => one.name === name) ?? all?.[0];
    return {
      name: "sample",
      project,
      environment: chosen?.name ?? "environment",
      domain: chosen?.domain ?? "example",
      scheme: chosen?.scheme,
      suffix: chosen?.url_suffix.replace(/^\./, ""),
      all: all?.map((one) => one.name) ?? [],
      choose,
    };
  }, [all, project, name]);
}
