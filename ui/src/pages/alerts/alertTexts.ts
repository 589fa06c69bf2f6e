import { plural } from "@/plural";

// What the page of alerts says.

export const alertTexts = {
  title: "Alerts",
  unread: "The alerts could not be read.",
  active: (count: number) =>
    count === 0
      ? "Nothing needs attention"
      : plural(count, "thing needs attention", "things need attention"),
  calm: "Alerts start and end by themselves, with their cause. You see those about deployments and environments that you may see.",
  ended: "Ended in the last 30 days",
  noneEnded: "No alert has ended lately.",
  showEnded: "Show those that ended",
  lasting: "Since",
  endedAt: "ended",
  severity: { warning: "Warning", critical: "Critical" },
  acknowledge: "Acknowledge",
  acknowledging: "Acknowledging…",
  acknowledgedBy: (name: string) => `${name} looks after it.`,
  silence: "Silence",
  silenceFor: "Silence notifications for",
  spans: { "1": "1 hour", "8": "8 hours", "24": "1 day", "168": "1 week" },
  silentUntil: (by: string) => `${by} silenced it; notifications come again`,
  endSilence: "End the silence",
  ending: "Ending…",
  failed: "That did not work.",
};
