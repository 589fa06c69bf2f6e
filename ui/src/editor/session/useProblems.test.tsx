import { focusManager, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, renderHook, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, expect, it, vi } from "vitest";
import { client } from "@/api/client";
import type { Catalogue } from "../model/catalogue";
import type { Doc } from "../model/document";
import { useProblems } from "./useProblems";

const catalogue: Catalogue = {
  services: new Map([["web", { name: "web" } as never]]),
  plugins: new Map(),
  secrets: [],
};
const service = { name: "web", env: { A: "1" }, resources: { memory_mib: 64 } };
const doc: Doc = { steps: [{ key: "web", service }], comments: [] };

const answers = vi.fn();
afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
  answers.mockReset();
});

function problemsIn(given: Doc) {
  vi.spyOn(client, "POST").mockImplementation((async () => {
    const { status, body } = answers();
    const ok = status === 200;
    const response = { ok, status, headers: new Headers() };
    return { response, ...(ok ? { data: body } : { error: body }) };
  }) as never);
  const cache = new QueryClient();
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={cache}>{children}</QueryClientProvider>
  );
  return renderHook(() => useProblems("shop", given, catalogue), { wrapper }).result;
}

const title = "Bad Request";

it("marks what the server could not read, in place of calling it silent", async () => {
  const field = "pipeline.steps.0.service.env.A";
  answers.mockReturnValue({ status: 400, body: { title, field, code: "invalid", detail: "text" } });
  const result = problemsIn(doc);
  await waitFor(() => expect(result.current.asked).toBe("asked"));
  expect(result.current.all).toEqual([
    { step: "web", field: "service.env.A", code: "invalid", message: "text" },
  ]);
});

it("says so when it was refused to ask, and lists what this page knows", async () => {
  answers.mockReturnValue({ status: 403, body: { title, code: "forbidden" } });
  const result = problemsIn({ steps: [], comments: [] });
  await waitFor(() => expect(result.current.asked).toBe("silent"));
  expect(result.current.all.map((one) => one.code)).toEqual(["empty"]);
});

it("asks a silent server again by itself", async () => {
  answers.mockReturnValueOnce({ status: 503, body: { title } });
  answers.mockReturnValue({ status: 200, body: { changes: false, problems: [] } });
  const result = problemsIn(doc);
  await waitFor(() => expect(result.current.asked).toBe("silent"));
  await waitFor(() => expect(result.current.asked).toBe("asked"));
});

it("asks again when somebody comes back to the page", async () => {
  const gone = { field: "service.env.A", step: "web", code: "unknown_secret", message: "gone" };
  answers.mockReturnValueOnce({ status: 200, body: { changes: false, problems: [gone] } });
  answers.mockReturnValue({ status: 200, body: { changes: false, problems: [] } });
  const result = problemsIn(doc);
  await waitFor(() => expect(result.current.all).toHaveLength(1));
  act(() => focusManager.setFocused(false));
  act(() => focusManager.setFocused(true));
  await waitFor(() => expect(result.current.all).toHaveLength(0));
  focusManager.setFocused(undefined);
});
