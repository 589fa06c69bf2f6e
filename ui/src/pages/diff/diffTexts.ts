import { plural } from "@/plural";

export const diffTexts = {
  title: "Compare deployments",
  left: "First",
  right: "Second",
  choose: "Choose a deployment",
  pickTitle: "Choose two deployments",
  pick: "The differences are listed here, field by field.",
  same: "They are the same except for their names.",
  sameHint: "Versions, pipeline, settings and addresses agree.",
  unread: "The two could not be compared.",
  listUnread: "The deployments could not be read.",
  find: "Name, environment, project, person",
  found: (count: number) => plural(count, "deployment"),
  cut: (shown: number, all: number) =>
    `The first ${shown} of ${plural(all, "deployment")}: type more`,
  reading: "Reading…",
  record: (state: string, when: string) => `${state} ${when}`,
  swap: "Swap",
  field: "Field",
  whole: "the whole step",
  absent: "not there",
  count: (count: number) => plural(count, "field differs", "fields differ"),
};
