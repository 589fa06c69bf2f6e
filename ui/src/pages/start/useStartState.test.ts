import { QueryClient } from "@tanstack/react-query";
import { afterEach, expect, it, vi } from "vitest";
import { client } from "@/api/client";
import { chosePassword } from "./useStartState";

afterEach(() => vi.restoreAllMocks());

/** Whether somebody chose the password whose audit has exactly these acts. */
function chose(...acts: string[]) {
  vi.spyOn(client, "GET").mockImplementation((async (
    _: string,
    { params }: { params: { query: { action: string; actor: string; result: string } } },
  ) => {
    const { action, actor, result } = params.query;
    const found = actor === "ada" && result === "ok" ? acts.filter((one) => one === action) : [];
    return { data: { items: found.map((one) => ({ action: one })) }, response: new Response() };
  }) as never);
  return new QueryClient().fetchQuery(chosePassword("ada"));
}

it("knows a password of one's own however it was chosen", async () => {
  expect(await chose("sign in")).toBe(false);
  for (const act of ["change password", "join", "reset password"])
    expect(await chose(act)).toBe(true);
});
