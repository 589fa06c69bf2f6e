/** A stretch of a log line with one look. `cls` holds class names of ours, never text of the line. */
export type Span = { text: string; cls: string };

type Look = { fg: string; bold: boolean; dim: boolean; italic: boolean; underline: boolean };

const plain: Look = { fg: "", bold: false, dim: false, italic: false, underline: false };

// Every escape sequence and control character. Only SGR ("\x1b[…m") changes the look; the rest
// (cursor moves, titles, links, device control) is dropped, and lone controls are made visible.
const CONTROL =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a hostile log is made of
  /\u001b\[([0-9;:]*)m|\u001b\[[0-?]*[ -/]*[@-~]|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-~]?|[\u0000-\u0008\u000b-\u001f\u007f-\u009f]|[\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]/g;

const SECRET = /\[secret\]/g;

/** Splits a log line into spans. The text of the spans is exactly what a person may read. */
export function parseAnsi(line: string): Span[] {
  const out: Span[] = [];
  let look = plain;
  let from = 0;
  for (const match of line.matchAll(CONTROL)) {
    push(out, line.slice(from, match.index), look);
    from = match.index + match[0].length;
    if (match[1] !== undefined) look = applySgr(look, match[1]);
    else if (match[0].length === 1) out.push({ text: visible(match[0]), cls: "cc" });
  }
  push(out, line.slice(from), look);
  return out;
}

/** The line without any escape sequence, for search, copy and download. */
export function plainText(line: string): string {
  return parseAnsi(line)
    .map((span) => span.text)
    .join("");
}

function push(out: Span[], text: string, look: Look) {
  let from = 0;
  for (const match of text.matchAll(SECRET)) {
    if (match.index > from) out.push({ text: text.slice(from, match.index), cls: classes(look) });
    out.push({ text: match[0], cls: "se" });
    from = match.index + match[0].length;
  }
  if (from < text.length) out.push({ text: text.slice(from), cls: classes(look) });
}

function classes(look: Look): string {
  const names: string[] = [];
  if (look.fg) names.push(look.fg);
  if (look.bold) names.push("ab");
  if (look.dim && !look.fg) names.push("ad");
  if (look.italic) names.push("ai");
  if (look.underline) names.push("au");
  return names.join(" ");
}

function applySgr(look: Look, parameters: string): Look {
  const codes = parameters.split(/[;:]/).map((code) => Number(code || "0"));
  const next = { ...look };
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] ?? 0;
    if (code === 0) Object.assign(next, plain);
    else if (code === 1) next.bold = true;
    else if (code === 2) next.dim = true;
    else if (code === 3) next.italic = true;
    else if (code === 4) next.underline = true;
    else if (code === 22) next.bold = next.dim = false;
    else if (code === 23) next.italic = false;
    else if (code === 24) next.underline = false;
    else if (code >= 30 && code <= 37) next.fg = `a${code - 30}`;
    else if (code === 39) next.fg = "";
    else if (code >= 90 && code <= 97) next.fg = code === 90 ? "a8" : `a${code - 90}`;
    // 256 and true colours carry arguments, which must not be read as codes of their own.
    else if (code === 38 || code === 48) i += codes[i + 1] === 5 ? 2 : 4;
  }
  return next;
}

/** A control or bidirectional mark as a picture of itself: it may not act on the page. */
function visible(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
}
