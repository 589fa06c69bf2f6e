import { auditTexts as t } from "@/pages/audit/auditTexts";

/** An action in words: "put service" is "Saved service". One that is not known begins with a capital letter. */
export function actionWords(action: string): string {
  const phrase = t.phrases[action];
  if (phrase) return phrase;
  const [verb = "", ...noun] = action.split(" ");
  const said = t.verbs[verb];
  return [said ?? `${verb.charAt(0).toUpperCase()}${verb.slice(1)}`, ...noun].join(" ");
}

/** Who did it, in words: a task of the control plane itself is named as one. */
export function actorWords(actor: string): string {
  return actor.startsWith("system:") ? t.system(actor.slice("system:".length)) : actor;
}

export type FieldChange = { field: string; before: string; after: string };

/**
 * What a changed definition was and is, from the lines of an entry's detail; undefined where the
 * detail is something else. Values are JSON, so that an arrow in a text is no end of it.
 */
export function changesOf(detail = ""): { changes: FieldChange[]; more?: string } | undefined {
  const changes: FieldChange[] = [];
  for (const line of detail.split("\n")) {
    const more = /^and (\d+) more$/.exec(line)?.[1];
    if (more && changes.length > 0) return { changes, more };
    const change = changeOf(line);
    if (!change) return undefined;
    // An empty list where none was reads the same, and says nothing.
    if (change.before !== change.after) changes.push(change);
  }
  return changes.length > 0 ? { changes } : undefined;
}

const ARROW = " → ";

function changeOf(line: string): FieldChange | undefined {
  const colon = line.indexOf(": ");
  if (colon < 1) return undefined;
  const values = line.slice(colon + 2);
  for (let at = values.indexOf(ARROW); at >= 0; at = values.indexOf(ARROW, at + 1)) {
    const before = valueWords(values.slice(0, at));
    const after = valueWords(values.slice(at + ARROW.length));
    if (before !== undefined && after !== undefined)
      return { field: line.slice(0, colon), before, after };
  }
  return undefined;
}

/** A value of JSON as a person reads it; undefined for what is no JSON. */
function valueWords(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (value === null || value === "") return "";
    if (Array.isArray(value) && value.every((one) => typeof one === "string"))
      return value.join(", ");
    return typeof value === "string" ? value : text;
  } catch {
    return undefined;
  }
}
