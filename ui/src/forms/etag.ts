import { ask } from "@/api/client";

/** What was read, and the tag that says so when it is saved. */
export type Tagged<T> = { value: T; tag: string };

/** An answer with its tag; one without a tag matches whatever is there. */
export async function tagged<T>(answer: Parameters<typeof ask<T>>[0]): Promise<Tagged<T>> {
  const read = await answer;
  const value = await ask<T>(Promise.resolve(read));
  return { value, tag: read.response.headers.get("ETag") ?? "*" };
}

/** Saves only over what was read; something new only where there is nothing yet. */
export const ifMatch = (tag: string | undefined): Record<string, string> =>
  tag === undefined ? { "If-None-Match": "*" } : { "If-Match": tag };
