import { useQueryClient } from "@tanstack/react-query";
import { useToast } from "@/components/Toast";
import { formTexts as t } from "@/forms/formTexts";
import { useWhileShown } from "./useWhileShown";

type Answer = { changed: boolean; created?: boolean };

/** After a save: refetches the lists, shows a toast, and closes the sheet. */
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

/** Refetches lists. */
export function useRefresh(keys: string[]) {
  const cache = useQueryClient();
  return () => {
    for (const key of keys) void cache.invalidateQueries({ queryKey: [key] });
  };
}
