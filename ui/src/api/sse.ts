/** One server-sent event. `id` is the last id seen so far, as the standard says. */
export type ServerEvent = { event: string; data: string; id: string };

/**
 * Parses a stream of server-sent events fed in pieces of any size. Comments and unknown fields are
 * dropped; an event that is cut off by the end of the stream is dropped too, so that it comes again.
 */
export class SseParser {
  private rest = "";
  private data: string[] = [];
  private event = "";
  private pendingId: string;
  private skipLineFeed = false;

  /** @param id the Last-Event-ID of the request; events without an id of their own carry it. */
  constructor(private id = "") {
    this.pendingId = id;
  }

  push(chunk: string): ServerEvent[] {
    const out: ServerEvent[] = [];
    let text = this.rest + chunk;
    if (this.skipLineFeed && text.startsWith("\n")) text = text.slice(1);
    if (text !== "") this.skipLineFeed = false;
    let from = 0;
    for (;;) {
      const end = text.slice(from).search(/[\r\n]/);
      if (end < 0) break;
      const at = from + end;
      const line = text.slice(from, at);
      from = at + 1;
      if (text[at] === "\r") {
        if (from === text.length) this.skipLineFeed = true;
        else if (text[from] === "\n") from++;
      }
      this.line(line, out);
    }
    this.rest = text.slice(from);
    return out;
  }

  private line(line: string, out: ServerEvent[]) {
    if (line === "") return this.dispatch(out);
    if (line.startsWith(":")) return;
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (name === "data") this.data.push(value);
    else if (name === "event") this.event = value;
    else if (name === "id" && !value.includes("\0")) this.pendingId = value;
  }

  private dispatch(out: ServerEvent[]) {
    // The id counts only once its event is whole, or a cut would lose that event.
    this.id = this.pendingId;
    if (this.data.length > 0)
      out.push({ event: this.event || "message", data: this.data.join("\n"), id: this.id });
    this.data = [];
    this.event = "";
  }
}
