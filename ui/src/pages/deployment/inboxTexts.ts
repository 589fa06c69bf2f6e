// What the tab of caught mails says; loaded with it.

import type { Schemas } from "@/api/client";
import { formatBytes } from "@/components/quantity";
import { plural } from "@/plural";

type State = Schemas["MailList"]["state"];

const reasons: Partial<Record<State, [title: string, more: string]>> = {
  off: ["This node catches no mails", "An admin can switch it on with agent.mails.deployment."],
  service: [
    "A step called mail gets the mails",
    "The pipeline has a step of that name, so that its mails go there and not here.",
  ],
  unsupported: [
    "This node cannot catch mails",
    "Its agent is of an earlier release, on a cluster. Upgrade it.",
  ],
  old_relay: [
    "No mails are caught yet",
    "An earlier release made this deployment. Retry it, and its mails are caught.",
  ],
  waiting: ["No mails yet", "The deployment is on no node yet."],
  gone: ["No mails any more", "Mails are deleted with what ran of the deployment."],
};

export const inboxTexts = {
  title: "Inbox",
  reasons,
  unread: "The mails could not be read.",
  mailUnread: "The mail could not be read.",
  empty: "No mails yet",
  emptyMore:
    "Services send mails to mail, port 1025: any user name and password, or none. They are caught here, and never delivered.",
  find: "Find mails",
  nothing: (text: string) => `No mail has "${text}".`,
  list: "Mails, newest first",
  count: (mails: number, bytes: number) => `${plural(mails, "mail")}, ${formatBytes(bytes)}`,
  dropped: (count: number) => `${plural(count, "older mail")} made room for newer ones.`,
  refused: (count: number, most: number) =>
    `${plural(count, "mail")} ${count === 1 ? "was" : "were"} refused: one may have ${formatBytes(most)}, and the node's disk must have room.`,
  older: "There are older ones: search, or delete what you have read.",
  late: "New mails may be missing: the node does not answer.",
  noSubject: "(no subject)",
  to: (all: string) => `to ${all}`,
  back: "All mails",
  from: "From",
  recipients: "To",
  sentTo: "Sent to",
  at: "Caught",
  views: "What is shown of the mail",
  view: { page: "Page", text: "Text", header: "Headers", links: "Links", source: "HTML source" },
  frame: (subject: string) => `The mail "${subject}"`,
  safe: "Scripts do not run, and nothing is loaded from elsewhere. Links open in a new tab.",
  noText: "It has no text.",
  noLinks: "It has no links.",
  attachments: "Attachments",
  download: (name: string, bytes: number) => `Download ${name}, ${formatBytes(bytes)}`,
  unnamed: (index: number) => `attachment ${index}`,
  raw: "Download the mail",
  notSaved: (why: string) => `It could not be downloaded. ${why}`,
  choose: "Choose a mail.",
  clear: "Delete all",
  clearTitle: "Delete all mails?",
  clearName: "all mails",
  clearBody: "They are deleted on the node, for everybody. New ones are caught as before.",
};
