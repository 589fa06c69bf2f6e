/** How numbers and moments are written. A translation of the texts comes with its own. */
export const locale = "en-GB";
