import { plural } from "@/plural";

/** What the panel of dry runs and of real ones says. */
export const dryTexts = {
  run: "Dry run",
  environment: "Environment",
  busy: "Checking…",
  hint: "Dry run only checks. Run from here really runs the chosen step, in a scratch deployment.",
  versions: (chosen: number) =>
    chosen === 0
      ? "Versions: each service's default, or its newest"
      : `Versions: ${chosen} chosen, of the others the default or the newest`,
  usual: "Take the usual one",
  emptyDraft: "Draw a step first.",
  stale: "The draft has changed since; run it again.",
  unread: "The dry run was not made.",
  waits: "The environments are still being read.",
  branch: "Run from here",
  branchOf: (step: string) => `Run from here: ${step}`,
  branchChoose: "Choose one step: it runs, with all that it needs.",
  branchRefused: "It was not started.",
  starting: "Starting…",
  started: "Running as a scratch deployment:",
  none: "No environment can be seen.",
  unpublished: "Publish a first version; then branches of a draft can be run.",
  ok: "A deployment could be created now.",
  notOk: (count: number) => `${plural(count, "check")} would refuse it.`,
  state: { ok: "passes", failed: "stops", unknown: "unknown" } as Record<string, string>,
};

export const runHereTexts = {
  before: (step: string) => `Before ${step}`,
  runs: (kind: string) => `runs: ${kind}`,
  pin: (step: string) => `Use pinned outputs of ${step} instead of running it`,
  chooseSecret: "Choose a secret of the project",
  results: "What came of the run",
  stale: "The draft has changed since.",
  remove: "Remove it",
  removing: "Removing…",
  lifetime: "Removed after an hour without use, or when the next one starts.",
  pinned: "pinned",
  keepShort: "Pin",
  keep: (step: string) => `Pin these outputs of ${step}`,
  kinds: {
    service: "a service",
    job: "a job",
    plugin: "a plugin",
    approval: "an approval",
    script: "a script",
  } as Record<string, string>,
};
