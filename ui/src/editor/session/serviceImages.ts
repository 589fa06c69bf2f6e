import { useQueries } from "@tanstack/react-query";
import { ask, client } from "@/api/client";
import { containerOf, type Doc } from "../model/document";
import type { ServiceImage, ServiceImages } from "../model/imageAdvice";

/** How long an image counts as known, in ms: the registry is asked, not only our own server. */
const FRESH = 5 * 60_000;

/**
 * What the images of all services in a drawing say. A registry that does not answer is no trouble
 * of the drawing: then nothing is proposed.
 */
export function useServiceImages(doc: Doc): ServiceImages {
  const names = [...new Set(doc.steps.map((step) => containerOf(step)?.name ?? ""))]
    .filter(Boolean)
    .sort();
  return useQueries({
    queries: names.map((name) => ({
      queryKey: ["service", name, "image"],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        ask(client.GET("/api/v1/services/{name}/image", { params: { path: { name } }, signal })),
      staleTime: FRESH,
      retry: false,
    })),
    combine: (results) =>
      new Map(
        results.flatMap(({ data }, i) => (data ? [[names[i] ?? "", data] as const] : [])),
      ) as Map<string, ServiceImage>,
  });
}
