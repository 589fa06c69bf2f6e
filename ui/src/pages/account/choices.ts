import type { Schemas } from "@/api/client";
import { mailTexts, noticeTexts } from "@/pages/webhooks/noticeTexts";

type Choice = Schemas["NotificationChoice"];

/** How many choices the server keeps. */
export const MOST = 20;

/** A choice as the form holds it; the number tells them apart while they are changed. */
export type Row = {
  id: number;
  email: string;
  project: string;
  environment: string;
  events: Choice["events"];
  mine: boolean;
};

export const rowsOf = (all: Choice[]): Row[] =>
  all.map((one, id) => ({
    id,
    email: one.email,
    project: one.project ?? "",
    environment: one.environment ?? "",
    events: one.events,
    mine: one.mine ?? false,
  }));

/** A new choice begins with what people need most: their own deployments that fail or end. */
export function addRow(rows: Row[]): Row[] {
  const id = Math.max(-1, ...rows.map((row) => row.id)) + 1;
  const email = rows.at(-1)?.email ?? "";
  const events: Choice["events"] = ["deployment.failed", "deployment.expiring"];
  return [...rows, { id, email, project: "", environment: "", events, mine: true }];
}

export const bodyOf = (rows: Row[]): Schemas["NotificationsPut"] => ({
  choices: rows.map((row) => ({
    email: row.email.trim(),
    project: row.project || undefined,
    environment: row.environment || undefined,
    events: row.events,
    mine: row.mine || undefined,
  })),
});

/** What is wrong, by "row.field". */
export function findProblems(rows: Row[]): Record<string, string> {
  const said: Record<string, string> = {};
  rows.forEach((row, at) => {
    if (!/^\S+@\S+$/.test(row.email.trim())) said[`${at}.email`] = mailTexts.emailWrong;
    if (row.events.length === 0) said[`${at}.events`] = noticeTexts.eventsMissing;
  });
  return said;
}

/** The same of a refusal: "choices.1.email" is the address of the second choice. */
export function fieldOf(field: string | undefined): string | undefined {
  return /^choices\.(\d+\.(?:email|events))(?:\.|$)/.exec(field ?? "")?.[1];
}
