import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { afterEach, expect, it, vi } from "vitest";
import { client } from "@/api/client";
import { Branch } from "./Branch";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const one = (step: string, more: object) => ({ step, service: step, matched: false, ...more });
const web = one("web", { matched: true, tag: "feat-x-1" });

/** The field over the choices of a sheet, after a branch was applied; what is chosen, and choosing. */
async function apply(services: object[], began: Record<string, string>) {
  const response = new Response(null, { status: 200 });
  vi.spyOn(client, "GET").mockImplementation((async () => ({
    data: { branch: "feat/x", services },
    response,
  })) as unknown as typeof client.GET);
  const chosen: Record<string, string> = {};
  function Sheet() {
    const [own, set] = useState(began);
    Object.assign(chosen, own);
    const choose = (step: string, tag: string) => set((all) => ({ ...all, [step]: tag }));
    const all = Object.entries(own).map(([step, value]) => ({ step, value }));
    return (
      <>
        <Branch project="shop" versions={{ branches: [], chosen: all, own }} choose={choose} />
        <button type="button" onClick={() => choose("web", "v9")}>
          by hand
        </button>
      </>
    );
  }
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Sheet />
    </QueryClientProvider>,
  );
  await userEvent.type(screen.getByLabelText("Same branch everywhere"), "feat/x{Enter}");
  await vi.waitFor(() => expect(screen.getByRole("status").textContent).not.toBe(""));
  return chosen;
}

const said = () => screen.getByRole("status").textContent;

it("leaves what was chosen where nothing matches, says why, and offers the default", async () => {
  const api = one("api", { tag: "v1", reason: "The registry does not answer: refused." });
  const chosen = await apply([web, api], { api: "hotfix" });
  expect(chosen).toEqual({ web: "feat-x-1", api: "hotfix" });
  expect(said()).toMatch(/api stays at hotfix\.The registry does not answer: refused\./);
  await userEvent.click(screen.getByRole("button", { name: "Take its default, v1" }));
  expect(chosen.api).toBe("v1");
  expect(said()).toBe("");
});

it("offers no default that does not exist", async () => {
  await apply([one("api", { reason: "No tag of this branch." })], {});
  expect(said()).toBe("api has no version yet.No tag of this branch.");
  expect(screen.queryByRole("button", { name: /default/ })).toBeNull();
});

it("claims that every service has it only as long as every service takes it", async () => {
  await apply([web], {});
  expect(said()).toBe("Every service has a build of feat/x.");
  await userEvent.click(screen.getByRole("button", { name: "by hand" }));
  expect(said()).toBe("");
});
