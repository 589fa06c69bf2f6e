import type { Doc } from "../model/document";

/** A draft as the server has it; revision 0 means that there is none. */
export type Saved = { revision: number; base: number; doc?: Doc };
export type Version = { version: number; by: string; doc: Doc };

/** The server's side of a session. A refusal is an ApiError; any other error means no answer. */
export type DraftApi = {
  draft(): Promise<Saved>;
  save(doc: Doc, base: number, revision: number): Promise<Saved>;
  drop(revision: number): Promise<void>;
  /** One version, or the newest without a number. Version 0: the project has no pipeline yet. */
  version(number?: number): Promise<Version>;
  publish(doc: Doc, base: number, note?: string): Promise<number>;
};
