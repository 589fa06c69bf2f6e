import { expect, it } from "vitest";
import type { Deployment } from "@/api/client";
import { whyClosed } from "./whyClosed";

it.each([
  ["queued", "It opens when it answers."],
  ["applying", "It opens when it answers."],
  ["ready", "It does not answer now; it opens when it does."],
  ["failed", "It failed, so nothing answers."],
  ["undoing", "It failed and is being undone."],
  ["removing", "It is being removed."],
  ["stuck", "It is closed; its removal is stuck."],
  ["removed", "It is gone."],
] as const)("%s: %s", (status, said) =>
  expect(whyClosed({ status } as unknown as Deployment)).toBe(said),
);

it("waits for its machine", () => {
  const off = { status: "ready", node: "fra-02", node_offline_since: "2026-11-21T12:00:00Z" };
  expect(whyClosed(off as unknown as Deployment)).toBe("It opens when fra-02 is back.");
});
