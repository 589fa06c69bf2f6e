import { plural } from "@/plural";

// What the settings of the installation say.

export const settingsTexts = {
  title: "Settings",
  tabs: {
    keys: "Keys",
    backups: "Backups",
    certificates: "Certificates",
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
    activity:
      "Activity is create, retry, extend and, unless an environment ignores it, a visit to a URL.",
    visits: "visits do not count",
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
  certificates: {
    title: "Certificates",
    what: "What the ingress shows for HTTPS. The one whose hosts fit a name best is taken; without one the internal authority signs, where there is one.",
    unread: "The certificates could not be read.",
    none: "None yet: URLs answer on plain HTTP, unless the internal authority signs.",
    columns: {
      name: "Name",
      hosts: "Hosts",
      issuer: "Issued by",
      until: "Runs out",
      print: "Fingerprint",
    },
    add: "Add certificate",
    addTitle: "Add a certificate",
    chain: "Certificate chain, PEM",
    chainHint: "The hosts' own certificate first, then those that signed it.",
    chainMissing: "Paste the chain: it begins with -----BEGIN CERTIFICATE-----",
    key: "Private key, PEM",
    keyHint: "Without a passphrase. Sealed at once, never shown again.",
    keyMissing: "Paste the key: it begins with -----BEGIN PRIVATE KEY----- or like it.",
    remove: (hosts: string) =>
      `${hosts} answer with what is left: another certificate, the internal authority, or plain HTTP.`,
    removeOf: (name: string) => `Delete ${name}`,
    soon: "runs out soon",
    over: "ran out",
    authority: "Internal authority",
    authorityWhat:
      "Signs certificates for hosts that have none. Browsers trust it once its root is installed; the page of it explains how.",
    make: "Make the internal authority",
    making: "Making…",
    made: "The internal authority is there.",
    trust: "How to trust it",
    subject: "Subject",
    until: "Runs out",
    print: "Fingerprint",
    forget: "Delete the authority",
    forgetTitle: "Delete the internal authority?",
    forgetBody:
      "Hosts that it signed for go back to plain HTTP or another certificate. A new authority has to be trusted anew by every browser.",
  },
  copy: "the command",
  acts: "Actions",
};
