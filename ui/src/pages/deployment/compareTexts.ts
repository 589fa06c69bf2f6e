import { plural } from "@/plural";

/** Texts of the comparison of a run with the last good one. */
export const compareTexts = {
  title: (run: number) => `Run ${run} beside the last good run`,
  back: "Back to the run",
  unread: "The comparison could not be read.",
  none: "There is no good run to compare with",
  noneHint:
    "As soon as a run of this project is good in a deployment that you may see, it stands here.",
  good: "Last good",
  bad: "This run",
  difference: "Difference",
  ofRun: (name: string, run: number) => `${name}, run ${run}`,
  by: (who: string) => `by ${who}`,
  versions: "Versions",
  pipeline: "Pipeline",
  configuration: "Where and with what",
  durations: "Steps and how long they took",
  what: "What",
  step: "Step",
  field: "Field",
  version: "Version of the pipeline",
  absent: "not there",
  sameVersions: (count: number) => `${plural(count, "version")} unchanged.`,
  samePipeline: (version: number) => `Unchanged, v${version}.`,
  sameFields: "Nothing in its steps changed.",
  sameConfiguration: "The same environment, node and input.",
  allSame:
    "Versions, pipeline, place and input are the same. What made it fail is outside of them: data, another service, or the node.",
  usual: (more: string) => `${more} longer`,
  less: (less: string) => `${less} shorter`,
  alike: "as long",
  open: (name: string) => `Open ${name}`,
};
