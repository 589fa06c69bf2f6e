import { useQueryClient } from "@tanstack/react-query";
import { useToast } from "@/components/Toast";
import { formTexts as t } from "@/forms/formTexts";
import { useWhileShown } from "./useWhileShown";

type Answer = { changed: boolean; created?: boolean };

/** What follows a save of something defined: the lists are read anew, the result is said, the sheet closes. */
export function useSaved(keys: string[], close: () => void) {
  const cache = useQueryClient();
  const say = useToast();
  const leave = useWhileShown(close);
  return (name: string, { changed, created }: Answer) => {
    for (const key of keys) void cache.invalidateQueries({ queryKey: [key] });
    say("done", created ? t.created(name) : changed ? t.saved(name) : t.unchanged(name));
    leave();
  };
}

/** Reads lists anew. */
export function useRefresh(keys: string[]) {
  const cache = useQueryClient();
  return () => {
    for (const key of keys) void cache.invalidateQueries({ queryKey: [key] });
  };
}
