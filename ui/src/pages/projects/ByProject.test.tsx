import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { Button } from "@/components/Button";
import { ByProject } from "./ByProject";

afterEach(cleanup);

const read = vi.hoisted(() => vi.fn());
vi.mock("@/api/queries/catalog", () => ({ projects: { queryKey: ["projects"], queryFn: read } }));
vi.mock("@/lists/useOpenSheet", () => ({ useListSearch: () => [{ project: "shop" }, vi.fn()] }));

const texts = { title: "T", unread: "", project: "Project", noProjectTitle: "", noProject: "" };

function show() {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  render(
    <QueryClientProvider client={client}>
      <ByProject texts={texts}>
        {(_project, _pick, known, lack) => (
          <>
            {lack?.said}
            <Button reason={lack?.reason}>{known ? "Add" : "Not yet"}</Button>
          </>
        )}
      </ByProject>
    </QueryClientProvider>,
  );
}

it("a project that is unknown gives a reason for what needs it, and says so", async () => {
  read.mockResolvedValue([{ name: "bank" }]);
  show();
  expect((await screen.findByRole("alert")).textContent).toMatch(/no project shop/);
  expect(screen.getByRole("button", { name: "Not yet" }).title).toMatch(/no project shop/);
});

it("projects that could not be read are said, with another try", async () => {
  read.mockRejectedValueOnce(new TypeError("x")).mockResolvedValue([{ name: "shop" }]);
  show();
  const again = await screen.findByRole("button", { name: "Try again" });
  expect(screen.getByRole("button", { name: "Not yet" }).title).toMatch(/could not be read/);
  again.click();
  expect((await screen.findByRole("button", { name: "Add" })).title).toBe("");
});
