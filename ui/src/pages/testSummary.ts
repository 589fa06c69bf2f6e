import type { Schemas } from "@/api/client";
import { formatDuration } from "@/components/time";
import { testTexts as t } from "./testTexts";

type Summary = Schemas["TestSummary"];

/** Whether the results ask for a look: something failed, or they are not there. */
export function hasTestProblem(tests?: Summary): tests is Summary {
  return Boolean(tests && (tests.failed > 0 || tests.problem));
}

/** The state whose colour the results have; what only marks a run is no failure of it. */
export function testState(tests: Summary): "done" | "warn" | "failed" {
  if (!hasTestProblem(tests)) return "done";
  return tests.marked ? "warn" : "failed";
}

/** The numbers in one line, such as "3 of 120 tests failed, 2 skipped". */
export function describeTests(tests: Summary): string {
  if (tests.tests === 0 && tests.problem) return t.none;
  const parts = [
    tests.failed > 0 ? t.failed(tests.failed, tests.tests) : t.passed(tests.tests - tests.skipped),
  ];
  if (tests.skipped > 0) parts.push(t.skipped(tests.skipped));
  if (tests.seconds > 0) parts.push(formatDuration(tests.seconds * 1000));
  return parts.join(", ");
}
