import type { Deployment, Schemas } from "@/api/client";
import { formatAgo } from "@/components/time";
import { presenceTexts as t } from "./presenceTexts";

type Visitor = Schemas["Visitor"];

/** How long after their last request somebody counts as there, as the control plane has it. */
const PRESENT_FOR = 300_000;

/** Who is there now. What was read a while ago may name somebody who left since. */
export function visitorsOf({ visitors = [] }: Deployment, now: number): Visitor[] {
  return visitors.filter(({ last_seen }) => now - Date.parse(last_seen) < PRESENT_FOR);
}

/** Those whom this person would interrupt. */
export function othersOf(deployment: Deployment, now: number): Visitor[] {
  return visitorsOf(deployment, now).filter(({ you }) => !you);
}

function nameVisitor({ kind, name = "", you, visitors }: Visitor): string {
  if (you) return t.you;
  if (kind === "guest") return t.guest(name);
  if (kind === "robot") return t.robot(name);
  return kind === "count" ? t.visitors(visitors) : name;
}

/** All of them, each with the time of the last request. */
export function describeVisitors(all: Visitor[], now: number): string {
  return all.map((one) => t.last(nameVisitor(one), formatAgo(one.last_seen, now))).join("; ");
}
