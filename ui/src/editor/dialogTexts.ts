import { plural } from "@/plural";

// What the editor's dialogs and its empty canvas say; loaded with them.

export const dialogTexts = {
  compose: {
    title: (steps: number) => `The file has ${plural(steps, "step")}`,
    registries: (hosts: string[]) => `These registries are added: ${hosts.join(", ")}.`,
    services: "These services are added to the catalogue:",
    notes: "This is not carried over, or otherwise than written:",
    note: (line: number, service: string | undefined, message: string) =>
      [line > 0 ? `Line ${line}:` : "", service ?? "", message].filter(Boolean).join(" "),
    add: (count: number) => `Add ${plural(count, "service")} and draw it`,
    draw: "Draw it",
    busy: "Adding…",
    cancel: "Cancel",
  },
  begin: {
    title: "An empty drawing",
    example: "Begin with an example",
    compose: "Choose a Compose file",
    composeHint: "or drop one here",
  },
  note: {
    title: (version: number) => `Publish v${version} with a note`,
    label: "Note",
    hint: "Says in the history why, at most 500 letters.",
    cancel: "Keep drawing",
  },
};
