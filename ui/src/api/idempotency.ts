import { ApiError, idempotencyKey } from "./client";
import { isSilence } from "./queries/common";

/** Keys that make a repeated creation one creation. */
export class IdempotencyKeys {
  private sent = { content: "", key: "" };

  /** The header of a try: the same for as long as the same is sent and nobody answered. */
  header(content: unknown): { "Idempotency-Key": string } {
    const text = JSON.stringify(content);
    if (this.sent.content !== text) this.sent = { content: text, key: idempotencyKey() };
    return { "Idempotency-Key": this.sent.key };
  }

  /** A refusal was an answer: the next try is another creation. Else it is the same one. */
  failed(error: unknown) {
    if (!isUndecided(error)) this.done();
  }

  /** It was made: to ask for the same again is to ask for one more. */
  done() {
    this.sent = { content: "", key: "" };
  }
}

/**
 * Whether it may have been made all the same: nobody answered, or a proxy did in the server's place, or
 * the server is still at the first try. Only the same key finds out.
 */
export function isUndecided(error: unknown): boolean {
  const underWay = error instanceof ApiError && error.problem.code === "idempotency_key_under_way";
  return underWay || isSilence(error);
}
