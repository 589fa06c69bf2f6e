import { plural } from "@/plural";

/** The published versions of a pipeline, and comparing them. */
export const versionTexts = {
  title: (project: string) => `Versions of ${project}`,
  unread: "The versions could not be read.",
  by: "by",
  none: "No version yet",
  noneYet: "Each version that is published will be here, with what it changed.",
  changed: "What it changed",
  compare: "Compare",
  comparison: "Comparison",
  from: "From",
  to: "To",
  draft: "your draft",
  noDraft: "A draft is visible only to the person who edits it. Choose a version instead.",
  onCanvas: "Show on the canvas",
  all: "All versions",
  restore: "Bring it back",
  restoring: "Bringing it back…",
  open: "Draw on from it",
  current: "current",
  restored: (old: number, now: number) => `v${old} is published again as v${now}.`,
  restoreHint: "Publishes it again, with its images and limits.",
  openHint: "Puts it on the canvas as your draft. Undo restores the current one.",
  usedBy: (count: number) => `${plural(count, "deployment")} run it`,
  more: "Show older ones",
  moreBusy: "Reading…",
};
