import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { client } from "@/api/client";
import { Origin, Shown, toDocumentKind } from "./Origin";

vi.mock("@tanstack/react-router", () => ({
  Link: ({ children, to, search }: { children: string; to: string; search: { open: string } }) => (
    <a href={`${to}?open=${search.open}`}>{children}</a>
  ),
}));

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

/** Shows where service web comes from, to a person of the role; returns the addresses read. */
function show(role: string, found: object) {
  const read: string[] = [];
  vi.spyOn(client, "GET").mockImplementation((async (path: string) => {
    read.push(path);
    return { data: path === "/api/v1/me" ? { role } : found, response: new Response() };
  }) as unknown as typeof client.GET);
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Shown value={{ kind: "service", name: "web" }}>
        <Origin />
      </Shown>
    </QueryClientProvider>,
  );
  return read;
}

it("names the source, its repository and the commit that was applied", async () => {
  const source = {
    name: "platform",
    url: "https://git.example.org/acme/platform.git",
    applied: { hash: "3f2a91c07d5511" },
  };
  show("admin", { owner: "platform", source });
  const link = await screen.findByRole("link", { name: "platform" });
  expect(link.getAttribute("href")).toBe("/sources?open=platform");
  expect(link.closest("p")?.textContent).toBe(
    "Defined in platform at commit 3f2a91c (https://git.example.org/acme/platform.git). " +
      "What you change here is listed there as drift.",
  );
});

it("names the owner of documents that somebody applied", async () => {
  show("admin", { owner: "shop" });
  await screen.findByText(/^Documents of shop define this/);
});

it("says nothing of what was defined in NullOps, nor to who is no admin", async () => {
  const read = show("admin", {});
  await vi.waitFor(() => expect(read).toContain("/api/v1/documents/{kind}/{name}/origin"));
  expect(document.querySelector("p")).toBeNull();
  cleanup();
  vi.restoreAllMocks();
  const other = show("user", { owner: "shop" });
  await vi.waitFor(() => expect(other).toEqual(["/api/v1/me"]));
  expect(document.querySelector("p")).toBeNull();
});

it("knows which things documents define", () => {
  expect(toDocumentKind("registries")).toBe("registry");
  expect(toDocumentKind("sources")).toBeUndefined();
});
