// What the page of notices says; loaded with it.

import { plural } from "@/plural";

export const inboxTexts = {
  title: "Notices",
  unread: "Your notices could not be read.",
  empty: "Nothing to read",
  emptyMore:
    "Mentions, what happens to your deployments, and answers to what you asked for appear here and stay for 30 days.",
  readAll: "Mark all as read",
  reading: "Marking…",
  markRead: "Mark as read",
  markUnread: "Mark as not read",
  markOf: (label: string, subject: string) => `${label}: ${subject}`,
  isNew: "New",
  times: (count: number) => plural(count, "time"),
  requests: "Requests for access",
  requestsUnread: "The requests for access could not be read.",
  wants: (user: string, wanted: string) => `${user} asks for ${wanted}`,
  grant: "Give access",
  grantOf: (user: string) => `Give access to ${user}`,
  close: "Close",
  closeOf: (user: string) => `Close the request of ${user}`,
  closing: "Closing…",
  closed: (user: string) => `${user} reads now what they have.`,
  closeHint: "Closing tells the person whether they have it by now.",
  kinds: {
    mention: "Mention",
    comment: "Comment",
    failed: "Failed",
    stuck: "Stuck",
    degraded: "Degraded",
    expiring: "Ends soon",
    access_asked: "Request",
    access_answered: "Answer",
    alert: "Alert",
  },
};
