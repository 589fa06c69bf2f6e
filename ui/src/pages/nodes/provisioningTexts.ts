import { plural } from "@/plural";

// What the provisioning tokens say; loaded when they are opened.

export const provisioningTexts = {
  what: "One token enrols many machines: each that starts its agent with it becomes a node of its own.",
  unread: "The provisioning tokens could not be read.",
  none: "There is none.",
  add: "Create a token",
  title: "Create a provisioning token",
  made: (prefix: string) => `Provisioning token ${prefix}`,
  command: "the command",
  commandHint: (uses: number) =>
    `Run it on each machine, up to ${plural(uses, "machine")}. The token is shown only now.`,
  busy: "Creating…",
  environment: "Environment",
  uses: "Machines",
  usesHint: "How many machines it enrols at most.",
  usesWrong: "Type a whole number from 1 to 10,000.",
  hours: "Hours",
  hoursHint: "How long it enrols machines.",
  hoursWrong: "Type a whole number from 1 to 8,760.",
  template: "Node template",
  templateHint:
    "Its labels, taints and limits are those of the nodes. nullops node token create gives labels without one.",
  pattern: "Names",
  patternDefault: "{hostname}",
  patternHint: "{hostname} is the machine's own name, {n} the lowest free number, as in gpu-{n}.",
  columns: { token: "Token", environment: "Environment", uses: "Machines", ends: "Ends", by: "By" },
  used: (uses: number, most: number) => `${uses} of ${most}`,
  status: {
    active: "active",
    used_up: "used up",
    expired: "expired",
    revoked: "revoked",
  } as Record<string, string>,
  revoke: "Revoke",
  revokeBody: "It enrols no machine from now on. The nodes that it enrolled stay.",
};
