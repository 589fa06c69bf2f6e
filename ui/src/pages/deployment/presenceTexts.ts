/** Who is at a deployment's URLs; loaded with the pages that say so. */
export const presenceTexts = {
  here: "Who is here",
  you: "you",
  guest: (name: string) => (name ? `a guest (${name})` : "a guest"),
  robot: (name: string) => (name ? `a robot (${name})` : "a robot"),
  visitors: (n: number) => (n === 1 ? "1 visitor" : `${n} visitors`),
  last: (who: string, when: string) => `${who}, last request ${when}`,
  interrupts: (who: string) => `In use right now: ${who}. This interrupts them.`,
  retryTitle: (name: string) => `Retry ${name}?`,
};
