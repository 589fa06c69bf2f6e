import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, renderHook, screen, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, expect, it, vi } from "vitest";
import { client, type Deployment } from "@/api/client";
import { Toasts } from "@/components/Toast";
import { useBulk } from "./useBulk";
import { useMarks } from "./useMarks";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const rows = ["a", "b", "c", "d", "e"].map((id) => ({ id, name: id }) as Deployment);

/** Acts on all rows, which are marked; only `a` is done. */
async function act5() {
  vi.spyOn(client, "POST").mockImplementation((async (
    _: string,
    { params }: { params: { path: { id: string } } },
  ) => {
    const { id } = params.path;
    if (id === "a") return { data: rows[0], response: new Response(null, { status: 200 }) };
    const detail = id === "e" ? "It is gone." : "bob holds it.";
    const error = { title: "No", detail, status: 409, code: "x", request_id: "" };
    return { error, response: new Response(null, { status: 409 }) };
  }) as unknown as typeof client.POST);
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={new QueryClient()}>
      <Toasts>{children}</Toasts>
    </QueryClientProvider>
  );
  const use = () => {
    const marks = useMarks(rows);
    return { marks, bulk: useBulk(marks.keep) };
  };
  const { result } = renderHook(use, { wrapper });
  act(() => {
    for (const row of rows) result.current.marks.toggle(row.id);
  });
  act(() => result.current.bulk.mutate({ kind: "retry", on: rows }));
  await waitFor(() => expect(result.current.bulk.isSuccess).toBe(true));
  return result.current.marks.rows.map((row) => row.id);
}

it("says of all that were refused why, in one message, and leaves them marked", async () => {
  expect(await act5()).toEqual(["b", "c", "d", "e"]);
  const said = screen.getByRole("region", { name: "Results" }).textContent;
  expect(said).toMatch(/4 were refused.*b, c, d: bob holds it\. e: It is gone\./);
});
