import { expect, it, vi } from "vitest";
import type { Deployment, Me } from "@/api/client";
import { phraseCommands } from "./phrases";

const make = (name: string, more: Partial<Deployment> = {}) =>
  ({
    id: `id-${name}`,
    name,
    project: "shop",
    environment: "qa",
    status: "ready",
    level: "full",
    changed_at: "2026-11-21T12:00:00Z",
    services: [{ step: "api", health: "healthy", url: `http://api.${name}` }, { step: "web" }],
    ...more,
  }) as unknown as Deployment;
const all = [
  make("cart"),
  make("cart-two", { changed_at: "2026-11-22T12:00:00Z" }),
  make("ledger", { level: "read", services: [] } as never),
];
const person = { name: "lena", role: "user" } as Me;
const act = vi.fn();
const said = (typed: string, noCreate?: string) =>
  phraseCommands(typed, { all, person, act, noCreate });

it("finds the act and what it is meant for, the last changed first", () => {
  const found = said("clone cart");
  expect(found.map(({ label }) => label)).toEqual(["Clone cart-two", "Clone cart"]);
  expect(found[1]).toMatchObject({ to: "/deployments/new", search: { from: "id-cart" } });
  expect(said("clone cart", "Needs Full.")[0]?.reason).toBe("Needs Full.");
});

it("takes deployment and service in any order", () => {
  for (const typed of ["logs api cart-two", "log cart-two api", "logs cart-two ap"])
    expect(said(typed)[0]).toMatchObject({
      label: "Logs of api in cart-two",
      to: "/d/id-cart-two/logs",
      search: { log: "api" },
    });
  expect(said("metrics ledger")[0]).toMatchObject({ to: "/d/id-ledger/metrics", search: {} });
});

it("does what needs no page, and says why it can't", () => {
  const [retry] = said("retry cart");
  expect(retry?.reason).toMatch(/only what failed can be retried/);
  expect(said("extend ledger")[0]?.reason).toMatch(/needs Full on shop/);
  expect(said("open ledger")[0]?.reason).toMatch(/no URL/);
  const failed = make("broken", { status: "failed" });
  const [again] = phraseCommands("retry broken", { all: [failed], person, act });
  expect(again?.reason).toBeUndefined();
  (again as { run: () => void }).run();
  expect(act).toHaveBeenCalledWith("retry", failed);
});

it("is silent about anything else", () => {
  for (const typed of ["", "cart", "clone", "cl cart", "logs of nothing", "deploy cart"])
    expect(said(typed)).toEqual([]);
});
