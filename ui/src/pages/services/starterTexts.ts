import { formatLimit } from "@/components/quantity";
import { plural } from "@/plural";

// What the sheet of the starter catalogue says.

export const starterTexts = {
  title: "Add from the catalogue",
  add: "Add",
  adding: "Adding…",
  entry: "Service",
  entryHint: "Nothing of the catalogue is here until you add it. You can change it afterwards.",
  choose: "Choose a service",
  chooseMissing: "Choose what to add.",
  unread: "The catalogue could not be read.",
  name: "Name",
  nameHint: "Empty means the name that the catalogue uses.",
  mirror: "Registry",
  mirrorHint: "A registry of yours that mirrors the image, or the public one.",
  mirrorNone: "The public one",
  plugins: "Registry of the plugins",
  pluginsHint: (names: string) => `It holds plugins/NAME. These belong to the service: ${names}.`,
  pluginsNone: "Add no plugin",
  image: "Image",
  ports: "Ports",
  secrets: "Secrets a project needs",
  keeps: "Folders that are kept",
  limits: "Limits",
  limitsOf: (cpu?: number, memory?: number, gpus?: number) =>
    `${cpu ?? 0} cores, ${formatLimit(memory ?? 0)}${gpus ? `, ${plural(gpus, "GPU")}` : ""}`,
  with: "Comes with",
  none: "none",
  document: "Documents",
};
