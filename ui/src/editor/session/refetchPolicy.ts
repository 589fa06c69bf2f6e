import { isSilence } from "@/api/queries/common";

/** The longest delay between retries while the server does not answer, in ms. */
const LONGEST = 30_000;

/** For data that changes elsewhere and that validation depends on: refetch on window focus. */
export const REFETCH_ON_FOCUS = { refetchOnWindowFocus: true, staleTime: 0 };

/** The same, and retry with growing delays while the server does not answer. */
export const RETRY_WHILE_SILENT = {
  ...REFETCH_ON_FOCUS,
  retry: (_: number, error: Error) => isSilence(error),
  retryDelay: (count: number) => Math.min(LONGEST, 1000 * 2 ** count),
};
