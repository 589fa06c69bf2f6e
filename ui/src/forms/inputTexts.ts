/** What the sheet says of the input that a pipeline declares. */
export const inputTexts = {
  title: "Input",
  choose: "Choose…",
  default: (value: string) => `${value} if it is empty.`,
  required: "Has to be filled in.",
  missing: (label: string) => `Fill in ${label}.`,
  notCarried: (problem: string) => `The source's value is not taken over: ${problem}.`,
  removed: (name: string) => `${name} is left out: the pipeline no longer declares it.`,
};
