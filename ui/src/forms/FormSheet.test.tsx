import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, expect, it, vi } from "vitest";
import { TextField } from "./Fields";
import { FormSheet } from "./FormSheet";
import { useForm } from "./useForm";

vi.mock("./useLeaveGuard", () => ({ useLeaveGuard: () => {} }));
afterEach(cleanup);

const media = (narrow: boolean) =>
  vi.stubGlobal("matchMedia", () => ({
    matches: narrow,
    addEventListener() {},
    removeEventListener() {},
  }));

function Client({ children }: { children: ReactNode }) {
  return <QueryClientProvider client={new QueryClient()}>{children}</QueryClientProvider>;
}

function Sheet() {
  const form = useForm({ url: "" }, { check: () => ({}), save: async () => ({}), saved() {} });
  return (
    <FormSheet title="platform" form={form} onClose={() => {}} side={<p>Drifted</p>} sideFirst>
      <TextField form={form} name="url" label="Repository" />
    </FormSheet>
  );
}

it("has what it is opened for above its fields where there is no room beside them", async () => {
  for (const narrow of [true, false]) {
    media(narrow);
    const { unmount } = render(<Sheet />, { wrapper: Client });
    const state = await screen.findByText("Drifted");
    const order = state.compareDocumentPosition(screen.getByLabelText("Repository"));
    expect(Boolean(order & Node.DOCUMENT_POSITION_FOLLOWING)).toBe(narrow);
    unmount();
  }
});
