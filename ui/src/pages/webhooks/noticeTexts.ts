import type { Schemas } from "@/api/client";
import { plural } from "@/plural";

const events: Record<Schemas["NoticeEvent"], string> = {
  "deployment.created": "Deployment created",
  "deployment.ready": "Deployment ready",
  "deployment.failed": "Deployment failed",
  "deployment.canceled": "Deployment canceled",
  "deployment.removed": "Deployment removed",
  "deployment.stuck": "Deployment stuck",
  "deployment.forgotten": "Deployment forgotten",
  "deployment.expiring": "Deployment ends soon",
  "deployment.degraded": "Deployment degraded",
  "deployment.recovered": "Deployment recovered",
  "deployment.offline": "Deployment offline",
  "deployment.online": "Deployment online again",
  "deployment.verdict": "QA's verdict",
  "deployment.verdict_voided": "Verdict void",
  "node.online": "Node online",
  "node.offline": "Node offline",
  "node.untrusted": "Node not trusted",
  "node.incompatible": "Node incompatible",
  "controlplane.failing": "Control plane in trouble",
  "controlplane.recovered": "Control plane well again",
  "access.asked": "Somebody asks for access",
  "alert.started": "Alert started",
  "alert.ended": "Alert ended",
  "budget.reached": "Budget: share used",
  "budget.removing": "Budget used up: removal announced",
};

// What is told outside, and how: webhooks, chats and mail.

export const noticeTexts = {
  events,
  eventsLabel: "Events",
  eventsMissing: "Choose at least one event.",
  eventsCount: (count: number) => plural(count, "event"),
  everyProject: "Every project",
  everyEnvironment: "Every environment",
  project: "Project",
  environment: "Environment",
};

export const webhookTexts = {
  title: "Webhooks",
  add: "Add webhook",
  addTitle: "Add a webhook",
  unread: "The webhooks could not be read.",
  emptyTitle: "No webhook yet",
  empty:
    "A webhook tells another program, or a chat, what happens to deployments, nodes and NullOps itself.",
  columns: { name: "Name", kind: "Kind", host: "Leads to", of: "Only of", events: "Events" },
  kind: "Kind",
  anyKind: "Every kind",
  kinds: {
    json: "JSON, signed",
    slack: "Slack",
    mattermost: "Mattermost",
    teams: "Microsoft Teams",
  } satisfies Record<Schemas["WebhookKind"], string>,
  off: "off",
  everything: "everything",
  active: "Sends messages",
  activeHint: "When switched off, nothing new is sent; the log stays.",
  url: "Address",
  urlHint: "It may contain a key of the chat, so it is sealed and never shown again.",
  urlKept: (host: string) =>
    `It leads to ${host}. Leave it empty to keep it; a new address gets a new key.`,
  urlMissing: "Type the address that messages are sent to.",
  secret: "Signing key",
  secretHint: "Signs each message. Empty: one is made and shown once.",
  secretKept: "A value is stored, sealed. Leave the field empty to keep it.",
  secretShort: "A signing key has at least 16 characters.",
  template: "Sentence",
  templateHint:
    "With {deployment}, {project}, {environment}, {event}, {status}, {by}, {url}, {link}, {reason}, {node}, {job} and {time}. Empty is the usual one.",
  made: "The signing key is shown only now. Give it to the program that takes the messages:",
  delete: "Its address, key and delivery log are erased. Waiting messages are not sent.",
  test: "Send a test message",
  testing: "Sending…",
  testFirst: "Save first: the test uses the stored address.",
  taken: (answer: number | undefined) =>
    answer ? `It accepted the message (${answer}).` : "It accepted the message.",
  refused: "It did not accept the message.",
  notTried: "The test could not be run.",
};

export const deliveryTexts = {
  title: "Delivery log",
  unread: "The log could not be read.",
  none: "Nothing was sent yet.",
  kept: "Kept for 30 days.",
  states: {
    waiting: "Waiting",
    sent: "Sent",
    failed: "Failed",
  } satisfies Record<Schemas["Delivery"]["status"], string>,
  test: "Test message",
  attempts: (count: number) => plural(count, "try", "tries"),
  answered: (status: number) => `answered ${status}`,
  next: "next try",
  body: "What was sent",
  again: "Send again",
  sending: "Sending…",
  againOf: (event: string) => `Send again: ${event}`,
  sentAgain: "It was sent again.",
  notSentAgain: (why: string) => `It was sent again, and refused: ${why}`,
  noAnswer: "no answer",
  older: "Older ones",
};

export const mailTexts = {
  title: "Mail",
  hint: "Mail comes only about what you choose here, and only about what you may see.",
  unavailable:
    "No mail server is set, so nothing is sent yet. An admin sets mail.server and mail.from.",
  unread: "Your choices could not be read.",
  none: "You get no mail.",
  add: "Add a choice",
  most: "At most 20 choices are possible.",
  choice: (number: number) => `Choice ${number}`,
  remove: "Remove",
  removeOf: (number: number) => `Remove choice ${number}`,
  email: "E-mail address",
  emailWrong: "Type an address such as ada@example.org.",
  mine: "Only deployments that I created",
  save: "Save the choices",
  same: "Nothing is changed.",
  saved: "Your choices are saved.",
  changed: "They were changed in another window. Read them again, then repeat your change.",
  readAgain: "Read them again",
};
