import type { Schemas } from "./client";

// Passkeys, by the JSON forms of WebAuthn that browsers have: nothing is decoded here.

type Question = Schemas["PasskeyQuestion"];
type Answer = Schemas["PasskeyAnswer"];

/** Whether this browser knows passkeys here: it needs https, or localhost. */
export function knowsPasskeys(): boolean {
  return (
    window.isSecureContext &&
    typeof window.PublicKeyCredential?.parseRequestOptionsFromJSON === "function"
  );
}

/** Has the person's device make a passkey. */
export async function makePasskey({ ticket, options }: Question): Promise<Answer> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(
    options as unknown as PublicKeyCredentialCreationOptionsJSON,
  );
  return answerOf(ticket, await navigator.credentials.create({ publicKey }));
}

/** Has the person choose a passkey, and their device check who they are. */
export async function getPasskey({ ticket, options }: Question): Promise<Answer> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(
    options as unknown as PublicKeyCredentialRequestOptionsJSON,
  );
  return answerOf(ticket, await navigator.credentials.get({ publicKey }));
}

function answerOf(ticket: string, made: Credential | null): Answer {
  if (!(made instanceof PublicKeyCredential)) throw new DOMException("", "NotAllowedError");
  return { ticket, credential: made.toJSON() as unknown as Answer["credential"] };
}

/** What went wrong before anything was sent: closed by the person, another address, made before. */
export function passkeyProblem(error: unknown): "closed" | "elsewhere" | "known" | undefined {
  if (!(error instanceof DOMException)) return undefined;
  if (error.name === "SecurityError") return "elsewhere";
  return error.name === "InvalidStateError" ? "known" : "closed";
}
