import { randomHex } from "./random";

/** How long after what a person did a request still counts as asked for by it, in ms. */
const REACH = 5_000;

let parent = "";
let begun = Number.NEGATIVE_INFINITY;

function beginTrace() {
  // Marked as sampled, which asks for it only: the server decides by the id.
  parent = `00-${randomHex(16)}-${randomHex(8)}-01`;
  begun = performance.now();
}

/** Each thing a person does begins a trace (W3C Trace Context): opening the page is the first. */
export function traceDeeds() {
  for (const deed of ["pointerdown", "keydown", "popstate"])
    addEventListener(deed, beginTrace, true);
  beginTrace();
}

/** The header of the trace; none for what the page asks for by itself, which begins its own. */
export const traceparent = (): Record<string, string> =>
  performance.now() - begun < REACH ? { traceparent: parent } : {};
