import { idempotencyKey } from "./client";

/** Keys that make a repeated creation one creation. */
export class Once {
  private sent = { content: "", key: "" };

  /** The header of a try: the same for as long as the same is sent and nobody answered. */
  header(content: unknown): { "Idempotency-Key": string } {
    const text = JSON.stringify(content);
    if (this.sent.content !== text) this.sent = { content: text, key: idempotencyKey() };
    return { "Idempotency-Key": this.sent.key };
  }

  /** A refusal was an answer: the next try is another creation. Silence was not: it is the same one. */
  failed(error: unknown) {
    if (error && typeof error === "object" && "status" in error) this.done();
  }

  /** It was made: to ask for the same again is to ask for one more. */
  done() {
    this.sent = { content: "", key: "" };
  }
}
