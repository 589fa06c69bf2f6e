import type { Schemas } from "@/api/client";

/** The mark of a verdict: one that is void says nothing about what runs. */
export function stateOfVerdict({ outcome, voided_at }: Schemas["Verdict"]) {
  if (voided_at) return "removed";
  return outcome === "failed" ? "failed" : outcome === "remarks" ? "warn" : "done";
}
