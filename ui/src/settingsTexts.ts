import { plural } from "@/plural";

// What the settings of the installation say.

export const settingsTexts = {
  title: "Settings",
  tabs: {
    keys: "Keys",
    backups: "Backups",
    cleanup: "Clean-up",
    about: "About",
  } as Record<string, string>,
  keys: {
    title: "Master keys",
    what: "Secrets are sealed under these. The first one present seals what is new; the others only open.",
    unread: "The keys could not be read.",
    columns: { name: "Name", state: "State", values: "Values sealed under it", uses: "Where" },
    primary: "seals what is new",
    present: "only opens",
    missing: "not given to the control plane",
    lost: "Values under it can't be opened until it is given again.",
    removable: "Nothing is left under it; it may be taken out of the setting.",
    rotate: "Seal everything under the first key",
    rotating: (left: number) => `${plural(left, "value")} to go…`,
    start: "Sealing…",
    rotated: (count: number) =>
      count === 0
        ? "Everything was under the first key already."
        : `${plural(count, "value")} sealed anew.`,
    rotateWhy: "Every value is under the first key already.",
    how: "A new key: put it in front of the others in NULLOPS_MASTER_KEYS (or its file), restart, then seal everything under it here. The old one may go when nothing is left under it.",
  },
  backups: {
    title: "Backups",
    what: "One encrypted file holds everything: people, definitions, deployments, audit. It is written on the machine of the control plane, not here: whoever holds this page's session shall not be able to carry everything away.",
    write: "Write one",
    writeLine: "nullops backup > nullops-backup.bin",
    restore: "Put it back, into an empty database",
    restoreLine: "nullops restore < nullops-backup.bin",
    key: "Keep the master key apart from it: the file can't be opened without, and with both anybody can read everything.",
    after:
      "After a restore, agents that are ahead of the file tell what they run; nothing is stopped. See Nodes for what nobody here knows of.",
    last: "Backups in the audit",
  },
  cleanup: {
    title: "Clean-up rules",
    what: "A deployment without activity is removed after so long. A project's own rule replaces its environment's.",
    environment: "Environments",
    project: "Projects with a rule of their own",
    never: "never",
    none: "None: all follow their environment.",
    unread: "The rules could not be read.",
    activity: "Activity is create, retry, extend and a visit to a URL.",
    columns: { name: "Name", rule: "Removed", deployments: "Deployments" },
  },
  about: {
    title: "This installation",
    version: "Version",
    you: "Signed in as",
    docs: "API description",
    unread: "The version could not be read.",
    build: "Build",
  },
  copy: "the command",
};
