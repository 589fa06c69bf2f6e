import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { ask, client } from "@/api/client";
import { environments } from "@/api/queries/catalog";
import type { Catalogue } from "./catalogue";
import { doorOf, keepOf } from "./door";
import { type Doc, pipelineOf } from "./model";
import { byStep, fromServer, type Problem, problemsOf } from "./problems";
import { Session } from "./session";

/** The session of a project, opened once, saved when the page is left. */
export function useSession(project: string, person: string) {
  const [session, setSession] = useState<Session>();
  const [error, setError] = useState<unknown>();
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    let opened: Session | undefined;
    let left = false;
    setError(undefined);
    Session.open(doorOf(project), keepOf(project, person)).then((made) => {
      opened = made;
      if (left) made.close();
      else setSession(made);
    }, setError);
    // The page may come back out of the browser's cache, and draws on then.
    const leave = () => opened?.keepHere();
    const online = () => void opened?.flush();
    window.addEventListener("pagehide", leave);
    window.addEventListener("online", online);
    return () => {
      left = true;
      void opened?.flush().catch(() => undefined);
      opened?.close();
      window.removeEventListener("pagehide", leave);
      window.removeEventListener("online", online);
    };
  }, [project, person, attempt]);
  return { session, error, retry: () => setAttempt(attempt + 1) };
}

export function useSessionState(session: Session) {
  return useSyncExternalStore(session.subscribe, session.get);
}

/** How long after the last edit the server is asked, in ms. */
const QUIET = 350;

export type Asked = "asked" | "asking" | "silent";

/**
 * What is wrong: told at once by this page, and by the server, which has the last word, when the
 * drawing has been still for a moment.
 */
export function useProblems(project: string, doc: Doc, catalogue: Catalogue) {
  const still = useStill(doc, QUIET);
  const query = useQuery({
    queryKey: ["project", project, "validate", still],
    queryFn: () =>
      ask(
        client.POST("/api/v1/projects/{name}/pipeline/validate", {
          params: { path: { name: project } },
          body: { pipeline: pipelineOf(still) },
        }),
      ),
    // Keys are documents: what was asked long ago is of no use.
    gcTime: 10_000,
    retry: false,
  });
  const own = useMemo(() => problemsOf(doc, catalogue), [doc, catalogue]);
  const fresh = still === doc;
  const answer = fresh ? query.data : undefined;
  const all = useMemo<Problem[]>(
    () => (answer ? [...fromServer(answer.problems), ...own.filter((one) => one.advice)] : own),
    [answer, own],
  );
  const asked: Asked = answer ? "asked" : fresh && query.isError ? "silent" : "asking";
  return { all, asked };
}

function useStill<T>(value: T, ms: number): T {
  const [still, setStill] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setStill(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return still;
}

/** Problems by step, each list the same object as before while it says the same. */
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

/** What a preview calls itself where the deployment's own names will be. */
export function useSample(project: string) {
  const all = useQuery(environments).data;
  return useMemo(() => {
    const first = all?.[0];
    return {
      name: "sample",
      project,
      environment: first?.name ?? "environment",
      domain: first?.domain ?? "example",
      scheme: first?.scheme,
      suffix: first?.url_suffix.replace(/^\./, ""),
    };
  }, [all, project]);
}
