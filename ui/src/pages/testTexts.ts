import { formatCount } from "@/components/quantity";
import { plural } from "@/plural";

/** What is said of the results of a job's tests. */
export const testTexts = {
  title: (step: string) => `Tests of ${step}`,
  passed: (count: number) => `${plural(count, "test")} passed`,
  failed: (count: number, all: number) => `${formatCount(count)} of ${plural(all, "test")} failed`,
  skipped: (count: number) => `${formatCount(count)} skipped`,
  none: "No test results",
  marked: "The pipeline lets failed tests only mark the run.",
  show: "Show what failed",
  hide: "Hide what failed",
  unread: "The test results could not be read.",
  reading: "Reading the test results…",
  unnamed: "A test without a name",
  more: (count: number) =>
    `${plural(count, "more test")} failed. Their names are in the log and in the files of the test runner.`,
  shortened: "Long messages are left out or shortened.",
};
