/** What of a project's pipeline is open: a step, a panel, and a comparison such as v14..draft. */
export type PipelineSearch = { step?: string; panel?: Panel; compare?: string };

export const TABS = ["problems", "changes", "dryRun", "users"] as const;
export type Tab = (typeof TABS)[number];
export type Panel = Tab | "history";

export function readPipelineSearch(search: Record<string, unknown>): PipelineSearch {
  const { step, panel, compare } = search;
  return {
    step: typeof step === "string" && step !== "" ? step : undefined,
    panel: [...TABS, "history"].includes(panel as Panel) ? (panel as Panel) : undefined,
    compare: compareOf(compare) ? (compare as string) : undefined,
  };
}

/** Two drawings of one project; the draft is what is on the canvas. */
export type Comparison = { from: number; to: number | "draft" };

export function compareOf(text: unknown): Comparison | undefined {
  const found = typeof text === "string" && /^v(\d{1,9})\.\.(?:v(\d{1,9})|draft)$/.exec(text);
  if (!found) return undefined;
  return { from: Number(found[1]), to: found[2] === undefined ? "draft" : Number(found[2]) };
}

export function compareText({ from, to }: Comparison): string {
  return `v${from}..${to === "draft" ? to : `v${to}`}`;
}
