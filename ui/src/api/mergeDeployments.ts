import type { Deployment } from "./client";
import { newerReading } from "./run";

/** Puts a deployment from the stream into the list: the higher revision wins, new ones go first. */
export function mergeOne(list: Deployment[], told: Deployment): Deployment[] {
  const at = list.findIndex((deployment) => deployment.id === told.id);
  if (at < 0)
    return told.status === "removed" || told.status === "forgotten" ? list : [told, ...list];
  const merged = newerReading(list[at], told);
  return merged === list[at] ? list : list.with(at, merged);
}

/** Applies a batch from the stream: only the last state of each deployment counts. */
export function mergeTold(list: Deployment[], told: Deployment[]): Deployment[] {
  return [...new Map(told.map((one) => [one.id, one])).values()].reduce(mergeOne, list);
}

/** Merges a refetched list with what the stream delivered meanwhile. */
export function mergeRead(known: Deployment[] | undefined, read: Deployment[]): Deployment[] {
  if (!known) return read;
  const by = new Map(known.map((deployment) => [deployment.id, deployment]));
  return read.map((deployment) => newerReading(by.get(deployment.id), deployment));
}
