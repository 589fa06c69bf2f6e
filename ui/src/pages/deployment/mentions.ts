// Names after an @, as the API finds them (controlplane/lifecycle/comment.go).

const NAME = /(^|[^\p{L}\p{N}@._/-])@([a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?)/giu;

/** The names that a text mentions, each once. */
export function mentionsIn(text: string): string[] {
  return [...new Set([...text.matchAll(NAME)].map((found) => (found[2] ?? "").toLowerCase()))];
}

/** What of a name was typed right before the caret; nothing when no name is being typed. */
export function typedName(text: string, caret: number): string | undefined {
  return /(?:^|[^\p{L}\p{N}@._/-])@([a-z0-9-]{0,40})$/iu.exec(text.slice(0, caret))?.[1];
}

/** The text with a name in place of what was typed of it, and where the caret goes. */
export function insertName(text: string, caret: number, name: string): [string, number] {
  const typed = typedName(text, caret);
  const start = typed === undefined ? caret : caret - typed.length - 1;
  const before = text.slice(0, start);
  const gap = typed === undefined && before !== "" && !/\s$/.test(before) ? " " : "";
  const put = `${before}${gap}@${name} `;
  return [put + text.slice(caret).replace(/^ /, ""), put.length];
}

/** The text in pieces: those that mention a person who was told, and those between. */
export function splitMentions(text: string, told: string[]): { text: string; told: boolean }[] {
  const pieces: { text: string; told: boolean }[] = [];
  let from = 0;
  for (const found of text.matchAll(NAME)) {
    const [all, before = "", name = ""] = found;
    if (!told.includes(name.toLowerCase())) continue;
    const start = found.index + before.length;
    if (start > from) pieces.push({ text: text.slice(from, start), told: false });
    from = found.index + all.length;
    pieces.push({ text: text.slice(start, from), told: true });
  }
  if (from < text.length) pieces.push({ text: text.slice(from), told: false });
  return pieces;
}
