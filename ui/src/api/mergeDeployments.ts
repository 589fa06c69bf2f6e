import type { Deployment } from "./client";
import { newerReading } from "./run";

/** Puts one told deployment into a list that was read: newest reading wins, unknown ones go first. */
export function mergeOne(list: Deployment[], told: Deployment): Deployment[] {
  const at = list.findIndex((deployment) => deployment.id === told.id);
  if (at < 0)
    return told.status === "removed" || told.status === "forgotten" ? list : [told, ...list];
  const merged = newerReading(list[at], told);
  return merged === list[at] ? list : list.with(at, merged);
}

/** Puts what was told in order into a list: of each deployment only the last word counts. */
export function mergeTold(list: Deployment[], told: Deployment[]): Deployment[] {
  return [...new Map(told.map((one) => [one.id, one])).values()].reduce(mergeOne, list);
}

/** Puts a list that was read again together with what was told meanwhile. */
export function mergeRead(known: Deployment[] | undefined, read: Deployment[]): Deployment[] {
  if (!known) return read;
  const by = new Map(known.map((deployment) => [deployment.id, deployment]));
  return read.map((deployment) => newerReading(by.get(deployment.id), deployment));
}
