import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { client } from "@/api/client";
import { me } from "@/api/queries/common";
import { AuditFilters } from "./AuditFilters";
import type { AuditSearch } from "./search";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const entry = { id: "1", at: "", actor: "system:move", action: "put node", object: "node n-1" };

beforeEach(() => {
  vi.spyOn(client, "GET").mockImplementation((async (path: string) => {
    const items = path === "/api/v1/audit" ? [entry] : [{ name: "lena" }];
    return { data: { items }, response: new Response() };
  }) as never);
});

/** As the address does, it follows a moment later. */
function Page() {
  const [search, setSearch] = useState<AuditSearch>({});
  const set = (change: AuditSearch) =>
    void setTimeout(() => setSearch((before) => ({ ...before, ...change })), 20);
  return <AuditFilters search={search} set={set} />;
}

function show(role: string) {
  const cache = new QueryClient();
  cache.setQueryData(me.queryKey, { name: "ada", role } as never);
  render(
    <QueryClientProvider client={cache}>
      <Page />
    </QueryClientProvider>,
  );
}

it("keeps the caret where it is typed, in the middle too", async () => {
  show("user");
  const field = screen.getByLabelText("On") as HTMLInputElement;
  await userEvent.type(field, "ad");
  await userEvent.type(field, "bc", { initialSelectionStart: 1, initialSelectionEnd: 1 });
  await new Promise((done) => setTimeout(done, 60));
  expect(field.value).toBe("abcd");
});

const offered = (list: string) =>
  [...document.querySelectorAll<HTMLOptionElement>(`${list} option`)]
    .map((one) => one.value)
    .filter(Boolean);

it.each([
  ["admin", ["lena", "system:move"]],
  ["user", ["system:move"]],
])(
  "offers to a person of role %s whom the audit names, once a field is gone to",
  async (role, who) => {
    show(role);
    expect(client.GET).not.toHaveBeenCalled();
    await userEvent.click(screen.getByLabelText("Who"));
    await vi.waitFor(() => expect(offered("#audit-who")).toEqual(who));
    expect(offered("#audit-what")).toEqual(["put node"]);
    expect(screen.getByRole("option", { name: "Saved node" })).toBeDefined();
    expect(offered("#audit-on-words")).toEqual(["node n-1"]);
  },
);
