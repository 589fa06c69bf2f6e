import { ask } from "@/api/client";

/** A value and its ETag, which is sent as If-Match when saving. */
export type Tagged<T> = { value: T; tag: string };

/** An answer with its tag; one without a tag matches whatever is there. */
export async function readTagged<T>(answer: Parameters<typeof ask<T>>[0]): Promise<Tagged<T>> {
  const read = await answer;
  const value = await ask<T>(Promise.resolve(read));
  return { value, tag: read.response.headers.get("ETag") ?? "*" };
}

/** The precondition of a save: If-Match with the ETag, or If-None-Match for a new object. */
export const ifMatch = (tag: string | undefined): Record<string, string> =>
  tag === undefined ? { "If-None-Match": "*" } : { "If-Match": tag };
