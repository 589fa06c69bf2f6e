import { plural } from "@/plural";

// What the page about environments says.

export const environmentTexts = {
  title: "Environments",
  add: "New environment",
  addTitle: "New environment",
  unread: "The environments could not be read.",
  emptyTitle: "No environment yet",
  empty:
    "An environment is a set of machines with a domain and a clean-up rule. Deployments live in one.",
  emptyRead: "An admin makes the first one; deployments live in it.",
  columns: {
    name: "Name",
    domain: "Hosts end in",
    nodes: "Nodes online",
    cleanup: "Clean-up",
    access: "Access",
  },
  nodes: (online: number, all: number) => `${online} of ${all}`,
  noNodes: "no node yet",
  cleanup: (hours: number) =>
    hours % 24 === 0
      ? `after ${plural(hours / 24, "day")} without activity`
      : `after ${plural(hours, "hour")} without activity`,
  keeps: "never",
  restricted: "restricted",
  open: "by project or environment",
  anyAccess: "Every access",
  domain: "Domain",
  domainHint: (name: string, domain: string) =>
    `A service answers at http://web.my-feature.${name || "qa"}.${domain || "lab.example.com"}. Names below it must lead to the ingress.`,
  domainMissing: "Type the domain that its hosts end in, such as lab.example.com.",
  description: "Description",
  restrictedLabel: "Restricted",
  restrictedHint:
    "A grant on a project is not enough here: the team also needs one on this environment.",
  cleanupLabel: "Remove deployments after so many hours without activity",
  cleanupHint:
    "Activity is create, retry, extend and, unless ignored below, a visit to a URL. Empty means never.",
  ignoreVisitsLabel: "Visits do not count",
  ignoreVisitsHint: "For environments that robots look at all the time.",
  ignorePresenceLabel: "Do not show who is here",
  ignorePresenceHint: "Nobody's last request is stored, and nothing waits for those who test.",
  cleanupWrong: "Type a whole number of hours, at most 87600, or nothing.",
  placement: "Which nodes",
  placementHint: "A label is a key, or key=value. One a line.",
  requiredLabels: "Labels a node must have",
  forbiddenLabels: "Labels a node must not have",
  preferredLabels: "Labels that make a node better",
  tolerations: "Taints that do no harm",
  gpu: "GPU memory, MiB",
  gpuHint: "The memory that each requested GPU must have at least.",
  capacity: "How room is counted",
  overcommit: "CPU overcommit",
  overcommitHint: "How many times the cores of a node may be allocated, 0.1 to 100. Empty is 4.",
  busyPercent: "Busy from, % of a node's CPU",
  busyPercentHint:
    "A node that uses this much all the time takes no new deployment. Empty is 90; 100 is never.",
  busySeconds: "Busy after, seconds",
  busySecondsHint: "For how long it has to use that much, 30 to 3600. Empty is 300.",
  delete: (nodes: number) =>
    nodes > 0
      ? `Its ${plural(nodes, "node")} would have nowhere to be. Nothing that runs is stopped: while nodes or deployments are in it, it stays.`
      : "It has no node. While deployments are in it, it stays.",
  gate: "Who may open its URLs",
  gates: {
    open: "Anyone who reaches the ingress",
    guests: "Team members, and people with a guest link",
    members: "Team members, signed in",
  },
  gateAsk: (name: string) => `Change who may open URLs of ${name}?`,
  gateThen: {
    open: "Nobody is asked to sign in.",
    guests: "Whoever is neither in a team nor has a guest link is sent to sign in.",
    members: "Whoever is in no team is sent to sign in; guest links open nothing.",
  },
  gateReach: (name: string) =>
    `It applies at once to every deployment in ${name}; deployments with a stricter rule keep it.`,
  gateChange: "Change it",
  gateChanging: "Changing…",
  gateHint: "A deployment can be stricter than its environment, never more open.",
  https: "Send plain HTTP on to HTTPS",
  httpsHint: "Needs a certificate for its hosts, see Settings, Certificates.",
  gateSaved: (name: string) => `Who may open URLs of ${name} is saved.`,
  gateUnread: "Who may open its URLs could not be read.",
  robots: {
    title: "Test robots",
    what: "A test robot can't sign in. With a token in the header Nullops-Pass it can open every deployment in this environment, whatever its rule.",
    unread: "The tokens of test robots could not be read.",
    none: "No robot has a token yet.",
    by: (who: string) => `by ${who}`,
    used: "last used",
    never: "never",
    ends: "ends",
    label: "What it is for",
    labelHint: "Such as: nightly browser tests.",
    labelMissing: "Say first what it is for.",
    days: "Days until it ends",
    daysWrong: "Type a whole number of days, 1 to 365.",
    make: "Make a token",
    making: "Making…",
    theToken: "the token",
    once: "The token is shown only once. Tests send it in the header Nullops-Pass.",
    makeFirst: "Make the robot's token first, or empty the field that says what it is for.",
    withdraw: "Withdraw",
    withdrawAct: (label: string) => `Withdraw ${label}`,
    withdrawOf: (label: string) => `Withdraw the token of ${label}?`,
    withdrawBody: "Access through it ends at once. Tests that use it are sent to the sign-in page.",
  },
  deployments: "Deployments in it",
  dns: "Line for the name server",
  dnsLine: "the line",
  dnsAddress: "ADDRESS-OF-THE-INGRESS",
  dnsHint:
    "One wildcard covers every service of every deployment in it. Replace the placeholder with the ingress's address.",
  dnsLocal: "Names below localhost lead to this machine by themselves; no name server is needed.",
};
