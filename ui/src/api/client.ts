import createClient from "openapi-fetch";
import { texts } from "@/texts";
import type { components, paths } from "./schema.gen";
import { viewingHeaders } from "./viewAs";

export type Schemas = components["schemas"];
export type Deployment = Schemas["Deployment"];
export type Question = Schemas["Question"];
export type Run = Schemas["Run"];
export type Step = Schemas["Step"];
export type LogLine = Schemas["LogLine"];
export type Progress = Schemas["Progress"];
export type ServiceHealth = Schemas["ServiceHealth"];
export type Problem = Schemas["Problem"];
export type Me = Schemas["Me"];
export type NodeInfo = Schemas["Node"];

/**
 * How long an answer may take, its body included. The slowest honest ones ask a registry, which the
 * control plane gives 10 s; a server that says nothing for a minute is as good as gone. Streams are
 * not asked for here but in live.ts, which watches them for silence.
 */
export const PATIENCE = 60_000;

/** A fetch that ends with its time, or with the signal of whoever asked. */
function fetchWithTimeout(request: Request): Promise<Response> {
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(PATIENCE)]);
  return fetch(request, { signal });
}

/** Same origin, session cookie; the browser adds Sec-Fetch-Site, which the server checks. */
export const client = createClient<paths>({
  baseUrl: "",
  credentials: "same-origin",
  fetch: fetchWithTimeout,
});

/** While an admin looks through somebody's eyes, every request says so. */
client.use({
  onRequest({ request }) {
    for (const [name, value] of Object.entries(viewingHeaders())) request.headers.set(name, value);
    return request;
  },
});

/** A refusal of the API, with the sentence, the field and the remedy it gave. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly problem: Problem,
    /** After how many seconds the server wants to be asked again, if it said so. */
    readonly retryAfter?: number,
  ) {
    super(problem.detail ?? problem.title);
  }
}

type Answer<T> = { data?: T; error?: unknown; response: Response };

/** The body of an answer, or the refusal as an ApiError. */
export async function ask<T>(answer: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await answer;
  if (response.ok) return data as T;
  const wait = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  throw new ApiError(response.status, asProblem(error, response), wait >= 0 ? wait : undefined);
}

/** The refusal that an answer is, which is not read yet. */
export async function refusalOf(response: Response): Promise<ApiError> {
  const body: unknown = await response.json().catch(() => undefined);
  return new ApiError(response.status, asProblem(body, response));
}

function asProblem(error: unknown, response: Response): Problem {
  if (error && typeof error === "object" && "title" in error) return error as Problem;
  return {
    type: "about:blank",
    title: texts.answered(response.status),
    status: response.status,
    code: "unreadable",
    request_id: response.headers.get("X-Request-Id") ?? "",
  };
}

export function isSignedOut(error: unknown): boolean {
  return error instanceof ApiError && error.status === 401;
}

export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}

/** A key that makes a repeated create one create. Works on plain HTTP too, unlike randomUUID. */
export function idempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
