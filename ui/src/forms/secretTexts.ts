export const secretTexts = {
  set: (name: string) => `Set ${name}`,
  title: (name: string) => `Set the secret ${name}`,
  hint: (project: string) =>
    `It belongs to the project ${project}. Nobody can read it here afterwards; runs get it.`,
  value: "Value",
  empty: "Type a value, or have one made.",
  generate: "Make a random one",
  save: "Set it",
  busy: "Setting…",
  cancel: "Cancel",
  done: (name: string) => `${name} is set`,
};
