/** Texts of a run's page that are loaded with it. */
export const runTexts = {
  openLine: "Open the log at this line",
  openLog: (step: string) => `Open the log of ${step}`,
  view: "Steps as",
  graph: "Graph",
  steps: "List",
  time: "Time",
  compare: "Compare with the last good run",
};
