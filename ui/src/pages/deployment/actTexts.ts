/** What the list of deployments says of acts, as their page does; loaded with the first page. */
export const actTexts = {
  scratchHint: "It runs a draft that was never published, so it cannot be recreated.",
  retryAsked: (name: string) => `${name} runs again.`,
  refused: (what: string) => `That was refused. ${what}`,
};
