import { isSilence } from "@/api/queries/common";

/** The longest wait between two questions to a silent server, in ms. */
const LONGEST = 30_000;

/** For what is changed elsewhere and judged by here: asked again when somebody comes back to it. */
export const REFETCH_ON_FOCUS = { refetchOnWindowFocus: true, staleTime: 0 };

/** And while the server is silent, ever more rarely. */
export const RETRY_WHILE_SILENT = {
  ...REFETCH_ON_FOCUS,
  retry: (_: number, error: Error) => isSilence(error),
  retryDelay: (count: number) => Math.min(LONGEST, 1000 * 2 ** count),
};
