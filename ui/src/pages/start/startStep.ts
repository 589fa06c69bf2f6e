import type { Deployment, NodeInfo, Schemas } from "@/api/client";
import type { startTexts } from "@/pages/start/startTexts";

/** Everything the way depends on; nothing is remembered, so it can be left at any point. */
export type StartState = {
  /** Whether the person chose the password; undefined for who signs in without one. */
  password: boolean | undefined;
  keys: Schemas["MasterKey"][];
  registries: Schemas["Registry"][];
  environments: Schemas["Environment"][];
  nodes: NodeInfo[];
  services: Schemas["Service"][];
  projects: Schemas["Project"][];
  deployments: Deployment[];
  /** Whether a URL of the first deployment that has one was opened. */
  visited?: boolean;
};

export type Way =
  | { kind: "page"; to: string; label: string; add?: boolean }
  | { kind: "pipeline"; project: string; label: string }
  | { kind: "deployment"; id: string; label: string }
  | { kind: "url"; url: string; label: string };

export type StartStep = {
  key: keyof typeof startTexts.steps;
  title: string;
  text: string;
  done: boolean;
  /** What a person needs for it, roughly. */
  minutes: number;
  /** It is in progress, needs a decision, or has failed. */
  state?: "wait" | "stuck" | "failed";
  /** What of it is known, live. */
  parts?: { label: string; done: boolean }[];
  /** Good to have before all others, but nothing waits for it. */
  before?: true;
  /** A compose file or the example do this and the rest at once. */
  others?: true;
  way?: Way;
  /** How to go on without it. */
  instead?: Way;
};

/** The page where one is added, with its sheet open. */
export const add = (to: string, label: string): Way => ({ kind: "page", to, label, add: true });
