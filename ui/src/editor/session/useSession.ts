import { useEffect, useState, useSyncExternalStore } from "react";
import { createDraftApi } from "./draftApi";
import { openLocalDrafts } from "./localDraft";
import { Session } from "./session";

/** How often a window checks for a newer version, in ms. */
const LOOK = 60_000;

/** Opens the project's session once, and saves it when the page is left. */
export function useSession(project: string, person: string) {
  const [session, setSession] = useState<Session>();
  const [error, setError] = useState<unknown>();
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    let opened: Session | undefined;
    let left = false;
    let forget = () => {};
    setError(undefined);
    const keep = openLocalDrafts(project, person);
    Session.open(createDraftApi(project), keep).then(
      (made) => {
        opened = made;
        if (left) return made.close();
        forget = watchWindow(made);
        setSession(made);
      },
      (why) => {
        keep.close();
        setError(why);
      },
    );
    return () => {
      left = true;
      forget();
      void opened?.flush().catch(() => undefined);
      opened?.close();
    };
  }, [project, person, attempt]);
  return { session, error, retry: () => setAttempt(attempt + 1) };
}

/** Forwards window events and a timer to the session until the returned function is called. */
export function watchWindow(session: Session): () => void {
  // The page may be restored from the back/forward cache and continue.
  const hide = () => void session.keepHere();
  const unload = (event: BeforeUnloadEvent) => {
    if (!session.keepHere()) event.preventDefault();
  };
  const online = () => void session.flush();
  const look = () => {
    // No answer: try again at the next interval.
    if (document.visibilityState === "visible") session.look().catch(() => undefined);
  };
  const heard = [
    ["pagehide", hide],
    ["beforeunload", unload],
    ["online", online],
    ["focus", look],
  ] as const;
  for (const [event, hear] of heard) window.addEventListener(event, hear as EventListener);
  const clock = setInterval(look, LOOK);
  return () => {
    clearInterval(clock);
    for (const [event, hear] of heard) window.removeEventListener(event, hear as EventListener);
  };
}

export function useSessionState(session: Session) {
  return useSyncExternalStore(session.subscribe, session.get);
}
