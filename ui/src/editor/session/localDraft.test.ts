// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { emptyDoc } from "../model/document";
import { type LocalDraft, openLocalDrafts } from "./localDraft";

const kept = (base: number): LocalDraft => ({ doc: emptyDoc, saved: emptyDoc, base, revision: 1 });
const open = () => openLocalDrafts("shop", "root");

/** The locks of a browser: held until they are let go. */
function locks() {
  const held = new Set<string>();
  return {
    request: async (name: string, hold: () => Promise<void>) => {
      held.add(name);
      await hold();
      held.delete(name);
    },
    query: async () => ({ held: [...held].map((name) => ({ name })) }),
  };
}

beforeEach(() => {
  localStorage.clear();
  Object.defineProperty(navigator, "locks", { value: locks(), configurable: true });
});
afterEach(() => vi.restoreAllMocks());

it("takes away only what its own window kept", async () => {
  const [one, other] = [open(), open()];
  one.write(kept(1));
  other.write(kept(2));
  other.write(undefined);
  one.close();
  one.write(kept(1));
  expect((await open().left()).map((left) => left.kept.base)).toEqual([1]);
});

it("leaves a window that lives what it kept, and gives the next one what is left of others", async () => {
  const [living, closed] = [open(), open()];
  living.write(kept(1));
  closed.close();
  closed.write(kept(2));
  const [left, ...more] = await open().left();
  expect(left?.kept.base).toBe(2);
  expect(more).toEqual([]);
  left?.take();
  expect(await open().left()).toEqual([]);
  expect(Object.keys(localStorage)).toHaveLength(1);
});

it("says when the browser keeps nothing", () => {
  vi.spyOn(Storage.prototype, "setItem").mockImplementation(() => {
    throw new DOMException("full", "QuotaExceededError");
  });
  expect(open().write(kept(1))).toBe(false);
});
