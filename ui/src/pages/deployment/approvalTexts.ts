/** What a question of a run says. */
export const approvalTexts = {
  label: (step: string) => `Question of ${step}`,
  whom: (teams: string[], users: string[]) => {
    const who = [...teams.map((team) => `anyone of ${team}`), ...users];
    return `The run waits for ${who.length > 0 ? who.join(", ") : "anyone with Full"}.`;
  },
  until: (at: string) => `It fails if nobody answers by ${at}.`,
  answered: (who: string, yes: boolean, at: string, node: string) =>
    `${who} ${yes ? "approved" : "rejected"} it at ${at}; ${node || "the node"} has not received the answer yet.`,
  yes: "Yes, go on",
  no: "No, undo",
  busy: "Answering…",
  choose: "Choose",
  required: "Needed to go on.",
  rejectTitle: (name: string) => `Undo ${name}?`,
  rejectBody:
    "The run fails, and every finished step is undone in reverse order. An answer cannot be changed.",
};
