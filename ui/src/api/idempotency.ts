import { ApiError, idempotencyKey } from "./client";
import { isSilence } from "./queries/common";

/** Idempotency keys, so that a retried create happens once. */
export class IdempotencyKeys {
  private sent = { content: "", key: "" };

  /** The header of an attempt: the same key until the content changes or the server answers. */
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
 * Whether the request may have succeeded despite the error: no response, a proxy's response, or the
 * first attempt is still running. Only a retry with the same key can tell.
 */
export function isUndecided(error: unknown): boolean {
  const underWay = error instanceof ApiError && error.problem.code === "idempotency_key_under_way";
  return underWay || isSilence(error);
}
