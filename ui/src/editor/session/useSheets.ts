import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useToast } from "@/components/Toast";
import { editorTexts as t } from "@/editor/editorTexts";
import type { Choices } from "../model/merge";
import type { Session } from "./session";

export type SheetName = "merge" | "discard" | "note";

/** Delay before a version that could not be loaded is requested again, in ms. */
const AGAIN = 5_000;

type Server = {
  project: string;
  session: Session;
  /** Called if publishing was refused. */
  onRefused: (error: unknown) => void;
};

/**
 * The dialogs of the editor (merge, discard, publish note), and what their answers do with the
 * draft.
 */
export function useSheets({ project, session, onRefused }: Server) {
  const [sheet, open] = useState<SheetName>();
  /** The note is kept until publishing succeeds, also across a merge. */
  const [note, setNote] = useState("");
  const [publishing, setPublishing] = useState(false);
  const say = useToast();
  const cache = useQueryClient();
  const failed = (error: unknown) => say("failed", t.refusedSave(wordsOf(error)));
  const close = () => open(undefined);

  const publish = async (words?: string) => {
    setPublishing(true);
    try {
      const version = await session.publish(words);
      open(version === undefined ? "merge" : undefined);
      if (version !== undefined) {
        setNote("");
        say("done", t.wasPublished(version));
      }
      void cache.invalidateQueries({ queryKey: ["project", project] });
      void cache.invalidateQueries({ queryKey: ["projects"] });
    } catch (error) {
      onRefused(error);
    } finally {
      setPublishing(false);
    }
  };
  const discard = async () => {
    close();
    try {
      if (await session.discard()) return;
      say("failed", t.discardMet);
      open(session.state.clash ? "merge" : "discard");
    } catch (error) {
      failed(error);
    }
  };
  const resolve = (choices: Choices) => {
    session.resolve(choices);
    open(note ? "note" : undefined);
  };
  const restored = () => {
    void cache.invalidateQueries({ queryKey: ["project", project] });
    session.followRestored().catch((error: unknown) => {
      say("failed", t.restoredUnread(wordsOf(error)));
      setTimeout(() => void session.look().catch(() => undefined), AGAIN);
    });
  };
  const follow = () => void session.follow().catch(failed);
  const state = { sheet, note, publishing };
  return { ...state, open, close, setNote, publish, discard, resolve, restored, follow };
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : "";
}
