import { expect, it } from "vitest";
import { ApiError } from "@/api/client";
import { ifMatch, readTagged } from "./etag";

const answer = (status: number, headers: Record<string, string>, data?: unknown) =>
  Promise.resolve({ data, response: new Response(null, { status, headers }) });

it("keeps the tag of what was read, and matches anything without one", async () => {
  expect(await readTagged(answer(200, { ETag: '"a1"' }, { name: "qa" }))).toEqual({
    value: { name: "qa" },
    tag: '"a1"',
  });
  expect((await readTagged(answer(200, {}, {}))).tag).toBe("*");
  await expect(readTagged(answer(404, { ETag: '"a1"' }))).rejects.toBeInstanceOf(ApiError);
});

it("saves over what was read, and makes only what is not there", () => {
  expect(ifMatch('"a1"')).toEqual({ "If-Match": '"a1"' });
  expect(ifMatch(undefined)).toEqual({ "If-None-Match": "*" });
});
