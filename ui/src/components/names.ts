/** How many last characters of a tag are always shown: tags differ at their end. */
export const ENDS = 8;

/** Shortens in the middle and keeps the last 8 characters. */
export function shortenMiddle(text: string, length = 18): string {
  if (text.length <= length) return text;
  return `${text.slice(0, length - ENDS - 1)}…${text.slice(-ENDS)}`;
}

/** The same for what is shortened where it is drawn: what may give way, and the last 8 characters. */
export function splitEnd(text: string): [string, string] {
  const all = [...text];
  return [all.slice(0, -8).join(""), all.slice(-8).join("")];
}

/** A thumbprint in groups of four, upper case, as the agent prints it. */
export function thumbprint(hex: string): string {
  const bare = hex
    .replace(/^sha256:/i, "")
    .replace(/[^0-9a-f]/gi, "")
    .toUpperCase();
  return bare.match(/.{1,4}/g)?.join(" ") ?? "";
}

/** Suggests a deployment name from a tag: "feat-cart-51d0e7b" becomes "feat-cart". */
export function nameFromTag(tag: string): string {
  return tag
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/-[0-9a-f]{7,40}$/, "")
    .slice(0, 40)
    .replace(/^-+|-+$/g, "");
}

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/;

/** Whether a text is a name of ours: a DNS label of at most 40 characters. */
export function isName(text: string): boolean {
  return LABEL.test(text);
}

/** Splits a text around each occurrence of a search, without regard to case. Odd parts match. */
export function splitAround(text: string, search: string): string[] {
  if (!search) return [text];
  const parts: string[] = [];
  const lower = text.toLowerCase();
  const wanted = search.toLowerCase();
  let from = 0;
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, from)) {
    parts.push(text.slice(from, at), text.slice(at, at + wanted.length));
    from = at + wanted.length;
  }
  parts.push(text.slice(from));
  return parts;
}

/** An image without its registry, when it is long: "…/shop/api". */
export function shortImage(image: string, length = 20): string {
  const parts = image.split("/");
  if (image.length <= length || parts.length < 2) return image;
  const end = parts.slice(-2).join("/");
  return end.length <= length && parts.length > 2 ? `…/${end}` : `…/${parts[parts.length - 1]}`;
}
