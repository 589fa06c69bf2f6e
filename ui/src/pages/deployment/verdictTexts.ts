// What the tab of QA's verdict says; loaded with it.

import type { Schemas } from "@/api/client";

type Outcome = Schemas["VerdictOutcome"];

const outcomes: Record<Outcome, string> = {
  passed: "Passed",
  remarks: "Passed with remarks",
  failed: "Failed",
};

export const verdictTexts = {
  title: "Verdict",
  outcomes,
  by: (outcome: Outcome, author: string) => `${outcomes[outcome]}, says ${author}`,
  of: (set: string) => `images ${set.slice(0, 12)}`,
  void: (reason: string) => `Void: ${reason}.`,
  unread: "The verdicts could not be read.",
  empty: "No verdict yet",
  emptyMore:
    "A verdict is about the images that run here now. It becomes a status of the pull request's commit, and a signed statement beside each image in its registry.",
  choose: "Your verdict",
  chooseFirst: "Choose a verdict first.",
  remarks: "Remarks",
  remarksHint: "Needed if it passed with remarks.",
  changed: "The deployment runs other images than when you began. Test these before you say more.",
  test: "Judge these images",
  send: "Say it",
  sending: "Saying it…",
  sent: (outcome: Outcome) => `${outcomes[outcome]}: signed and stored.`,
  attached: "attached",
  attaching: "is being attached",
  unattached: (reason: string) => `not attached: ${reason}. It is tried again for a day`,
  images: "Images of this verdict",
};
