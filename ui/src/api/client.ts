import createClient from "openapi-fetch";
import { texts } from "@/texts";
import { randomHex } from "./random";
import type { components, paths } from "./schema.gen";
import { traceparent } from "./trace";
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
 * Timeout of a request including its body. The slowest regular ones query a registry, for which the
 * control plane waits 10 s; after a minute without a response the server counts as down. Streams
 * use live.ts, which has a silence timeout of its own.
 */
export const PATIENCE = 60_000;

/** A fetch that aborts after the timeout, or with the caller's signal. */
function fetchWithTimeout(request: Request): Promise<Response> {
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(PATIENCE)]);
  return fetch(request, { signal });
}

/** Asks the person to prove who they are; false if they leave it. The frame of the pages sets it. */
let stepUp: (() => Promise<boolean>) | undefined;

export function onStepUp(ask: typeof stepUp) {
  stepUp = ask;
}

/**
 * Deeds that cannot be undone are refused until the person has proved again who they are. Then the
 * same request is sent once more, so that no page has to know.
 */
async function fetchWithProof(request: Request): Promise<Response> {
  // Streams of files can't be sent twice, and none of these is one.
  const again = request.method === "GET" || isUpload(request) ? undefined : request.clone();
  const response = await fetchWithTimeout(request);
  if (response.status !== 403 || !again || !stepUp) return response;
  const problem: unknown = await response
    .clone()
    .json()
    .catch(() => undefined);
  if ((problem as Problem | undefined)?.code !== "step_up_needed") return response;
  return (await stepUp()) ? fetchWithTimeout(again) : response;
}

const isUpload = (request: Request) =>
  request.headers.get("Content-Type") === "application/octet-stream";

/** Same origin, session cookie; the browser adds Sec-Fetch-Site, which the server checks. */
export const client = createClient<paths>({
  baseUrl: "",
  credentials: "same-origin",
  fetch: fetchWithProof,
});

/** While an admin views as another user, every request carries that user's name; and its trace. */
client.use({
  onRequest({ request }) {
    const headers = { ...viewingHeaders(), ...traceparent() };
    for (const [name, value] of Object.entries(headers)) request.headers.set(name, value);
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

/** Whether an error is a refusal with this code. */
export function isCode(error: unknown, code: string): boolean {
  return error instanceof ApiError && error.problem.code === code;
}

export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}

/** A key that makes a repeated create one create. */
export const idempotencyKey = () => randomHex(16);
