import { plural } from "@/plural";

// What the shared pieces of the admin pages say: lists, forms, deletions. Each area adds its own
// catalogue beside this one; they are loaded with their pages, not with the first one.

export const adminTexts = {
  search: "Search",
  find: (what: string) => `Find in ${what}`,
  shown: (shown: number, all: number) =>
    shown === all
      ? plural(all, "entry", "entries")
      : `${shown} of ${plural(all, "entry", "entries")}`,
  noMatchTitle: "Nothing matches",
  noMatch: (filters: string) => `Filters: ${filters}.`,
  clear: "Clear the filters",
  adminOnly: "Only admins can change this.",
  adminsAre: (names: string[]) =>
    names.length === 0
      ? "Only admins can change this."
      : `Only admins can change this: ${names.join(", ")}.`,
  save: "Save",
  saving: "Saving…",
  create: "Create",
  creating: "Creating…",
  edit: "Edit",
  editOf: (name: string) => `Edit ${name}`,
  remove: "Delete",
  removing: "Deleting…",
  removeOf: (name: string) => `Delete ${name}`,
  actsOf: (name: string) => `Actions for ${name}`,
  columnActs: "Actions",
  saved: (name: string) => `${name} is saved.`,
  unchanged: (name: string) => `${name} was like that already; nothing changed.`,
  created: (name: string) => `${name} is created.`,
  removed: (name: string) => `${name} is deleted.`,
  beside: "What it leads to",
  optional: "optional",
  yes: "Yes",
  no: "No",
  never: "never",
  none: "none",
  leaveTitle: "Leave without saving?",
  leaveBody: "What you changed here is lost.",
  leave: "Leave",
  stay: "Stay",
  conflicts: {
    made: "Somebody else made one of this name meanwhile. Choose another name, or close this and open theirs.",
    changed:
      "Somebody else saves this all the time; yours is not in yet. Nothing is lost here: save again.",
    gone: "Somebody else deleted this since you opened it. What you typed is still here, to be copied.",
  },
  meanwhile: {
    title: "Somebody else saved this since you opened it",
    untouched: "What they changed is taken over below. Look at it, then save.",
    both: (count: number) =>
      `You both changed ${plural(count, "field")}. Nothing is saved until you have chosen.`,
    undecided: (count: number) =>
      `Choose first between theirs and yours, in ${plural(count, "field")}.`,
    was: (value: string) => `When you opened it: ${value}`,
    theirs: "Theirs",
    mine: "Yours",
    asOpened: "As you opened it",
    typed: "Something else now, as typed above.",
    nothing: "nothing",
    takeTheirs: "Take theirs",
    saveMine: "Save mine over it",
  },
  notSaved: "Not saved.",
  nameLabel: "Name",
  nameHint: "Small letters, digits and hyphens, at most 40. It cannot be changed later.",
  nameMissing: "Give it a name, such as qa-eu.",
  nameWrong: "Use small letters, digits and hyphens: qa-eu. At most 40, no hyphen at either end.",
  nameTaken: (name: string) => `${name} is taken. Choose another name.`,
  nameFree: "free",
  registry: "Registry",
  registryHint: "Where its images are kept.",
  registriesUnread: "The registries could not be read.",
  chooseRegistry: "Choose a registry",
  noRegistry: "There is no registry yet. Add one first, under Registries.",
  deleteTitle: (name: string) => `Delete ${name}?`,
  inUseTitle: (name: string) => `${name} can't be deleted: it is in use`,
  inUse: (count: number) => `${plural(count, "thing uses", "things use")} it:`,
  inUseRemedy: "Change or remove these first, then delete it.",
  objectUnread: "It could not be read.",
  projectsRead: "The projects are being read.",
  projectsUnread: "The projects could not be read.",
  projectUnknown: (name: string) => `There is no project ${name}, or you can't see it.`,
  goneTitle: (name: string) => `${name} is not here`,
  required: "Fill this in.",
  notANumber: "Type a whole number.",
};
