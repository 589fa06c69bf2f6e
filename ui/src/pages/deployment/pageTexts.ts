import { plural } from "@/plural";
import { actTexts } from "./actTexts";

/** What the page of a deployment says. */
export const pageTexts = {
  ...actTexts,
  crumbs: "Deployments",
  tabsLabel: "Deployment",
  tabs: {
    run: "Run",
    services: "Services",
    history: "History",
    comments: "Comments",
    verdict: "Verdict",
    inbox: "Inbox",
  },
  qa: { passed: "QA: passed", remarks: "QA: passed with remarks", failed: "QA: failed" },
  qaVoid: "QA: verdict void",
  stepOf: (state: string, at: number, all: number) => `${state}, step ${at} of ${all}`,
  failedAt: (step: string) => `Failed at ${step}`,
  soFar: (spent: string) => `${spent} so far`,
  usually: (usual: string) => `usually ready in ${usual}`,
  after: (spent: string) => `after ${spent}`,
  in: (spent: string) => `in ${spent}`,
  pipeline: (version: number) => `pipeline v${version}`,
  retry: "Retry",
  retryBusy: "Starting…",
  cancel: "Cancel and undo",
  remove: "Delete",
  removing: "Deleting…",
  again: "Try removing again",
  forget: "Forget",
  forgetBusy: "Forgetting…",
  cancelTitle: (name: string) => `Stop and undo ${name}?`,
  cancelQueued: "It has not started yet, so it only leaves the queue. Its name becomes free again.",
  cancelBody: (at: number, all: number, done: number) =>
    `Stops at step ${at} of ${all} and undoes ${done === 0 ? "what it began" : `that and the ${plural(done, "finished step")} in reverse order`}. Everything it made is removed, and its name becomes free again.`,
  cancelYes: "Stop and undo",
  removeTitle: (name: string) => `Delete ${name}?`,
  removeBody: (services: number, urls: number, volumes?: string[]) => {
    const data =
      volumes?.length === 0
        ? "; it has no volume"
        : `, and every volume with its data is erased${volumes ? `: ${volumes.join(", ")}` : ""}`;
    const gone =
      urls === 0
        ? ""
        : ` ${plural(urls, "URL")} ${urls === 1 ? "says" : "say"} “removed” from then on.`;
    return `${plural(services, "service")} ${services === 1 ? "stops" : "stop"} now${data}.${gone}`;
  },
  removeUsed: (what: string, when: string) => `Last used: ${what}, ${when}.`,
  removeFailedBody:
    "Everything was undone when it failed, so nothing runs. Its name becomes free again.",
  removeStays:
    "Versions, steps and logs stay readable here. After the removal, this page says for how long.",
  removeOffline: (node: string) =>
    `${node} is offline. Removal starts when it is back; the URLs close now.`,
  forgetTitle: (name: string) => `Forget ${name}?`,
  forgetBody: (node: string) =>
    `NullOps stops trying. What is listed here stays on ${node} until somebody removes it there. The audit log records this with your name.`,
  forgetType: (name: string) => `Type ${name} to forget it`,
  undone: "All earlier steps were undone in reverse order.",
  undoing: "The earlier steps are being undone in reverse order.",
  nothingLeft: (node: string) => `Nothing of this deployment is left on ${node}.`,
  retryRuns: "Retry runs the newest version of the pipeline.",
  leftBehind: "Could not be removed:",
  removedTitle: "This deployment was removed",
  removedBody: (until: string) =>
    `This is its record: versions, steps and logs, read only${until ? `, kept until ${until}` : ""}.`,
  canceledTitle: "This deployment was canceled",
  offline: (node: string, at: string) => `${node} has been out of reach since ${at}`,
  offlineBody:
    "Everything on the node keeps running. This page shows the last known state; it updates again when the node is back.",
  queued: "It starts when its node is free.",
  graph: "Steps",
  stepCount: (count: number) => plural(count, "step"),
  strip: "Time of each step",
  usual: (usual: string) => `usual ${usual}`,
  ofAll: (all: string) => `of ${all}`,
  noteRunning: (done: number) =>
    done === 0
      ? "If a step fails, nothing is left behind."
      : `If a step fails, the ${plural(done, "finished step")} ${done === 1 ? "is" : "are"} undone in reverse order.`,
  noteReady: (count: number, spent: string) => `${plural(count, "step")} done in ${spent}.`,
  noteFailed: (undone: number, all: number) =>
    `${undone} of ${plural(all, "started step")} undone.`,
  undoFailed: "Not undone",
  noteUndoing: (undone: number, all: number) =>
    `Undoing bottom to top: ${undone} of ${all} undone.`,
  earlier: (run: number) => `This is run ${run}, not the latest.`,
  latest: "Show the latest",
  service: "service",
  job: "job",
  plugin: "plugin",
  approval: "approval",
  script: "script",
  metadata: "Reported",
  layers: (here: number, all: number) => `${here} of ${plural(all, "layer")} here`,
  alive: "Still alive",
  aliveToo: "still alive",
  checking: "Waits for its readiness check",
  checked: "waits for its readiness check",
  quiet: (spent: string) => `Quiet for ${spent}`,
  slow: (by: string, and: string) => `Slow, ${by} over the usual, ${and}`,
  silent: (spent: string) => `No sign of life for ${spent}`,
  told: (count: number) => `The node was told ${count} times`,
  retries: (count: number) => plural(count, "retry", "retries"),
  scratch: "draft",
  compareWith: "Compare with another deployment",
  over: (by: string) => `${by} over the usual`,
  stepTabs: { log: "Log", input: "Input", output: "Output", earlier: "Earlier runs" },
  earlierNone: "This is its first run.",
  judged: (usual: string) =>
    `Usually ${usual}: the median of this step's last successful runs, at most twelve.`,
  exitCode: (code: number) => `exit code ${code}`,
  noInput: "This step takes no parameters.",
  noOutput: "No outputs.",
  noOutputYet: "Outputs appear when the step is done.",
  services: "Services",
  healthyCount: (good: number, all: number) => `${good} of ${all} healthy`,
  inside: (ports: string) => `port ${ports}, inside only`,
  noPort: "no port",
  restarts: (count: number) => plural(count, "restart"),
  open: (service: string) => `Open ${service}`,
  closed: {
    leaving: "It is being removed, so this URL no longer works.",
    ended: (state: string) =>
      `The deployment is ${state.toLowerCase()}: nothing answers at this URL.`,
    waiting: "It has not started yet. It opens when the service is healthy.",
    starting: "It is starting. It opens when the service is healthy.",
    unhealthy: "Its last check failed. It opens when the service is healthy again.",
    stopped: "It has stopped; its log says why.",
    unknown: "Its state is unknown: the node has not reported it yet.",
  },
  noServices: "This deployment has no services.",
  gone: "Its services were removed; their versions are listed here.",
  serviceLogs: (service: string) => `Log of ${service}`,
  use: (cpu: string, memory: string) => `${cpu} cores, ${memory}`,
  useCurve: (service: string, peak: string) =>
    `CPU of ${service} in the last half hour, ${peak} at most`,
  showLogs: "Log",
  hideLogs: "Hide the log",
  history: {
    run: "Run",
    state: "State",
    pipeline: "Pipeline",
    by: "Started by",
    at: "Started",
    took: "Took",
    versions: "Versions",
    show: (run: number) => `Show run ${run}`,
  },
  unread: "This deployment could not be read.",
  runUnread: "This run could not be read.",
  historyUnread: "The runs could not be read.",
  deleteAsked: (name: string) => `${name} is being removed.`,
  cancelAsked: (name: string) => `${name} is being undone.`,
  forgotten: (name: string) => `${name} is forgotten; what was left on the node is recorded.`,
};
