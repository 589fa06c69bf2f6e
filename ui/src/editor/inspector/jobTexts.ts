/** What the inspector says of a job alone. */
export const jobTexts = {
  service: "Service of the catalogue",
  serviceHint: "Its image runs once, to its end. The next steps wait for exit code 0.",
  choose: "Choose…",
  tests: "Test results",
  testsHint:
    "JUnit XML that the job leaves in its container, such as /results/*.xml. It is read when the job has ended.",
  junit: "Path of the results; empty is none",
  failed: "When tests fail",
};
