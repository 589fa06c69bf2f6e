import type { Deployment } from "@/api/client";

/** The most matches to show; to find others, the user types more of the name. */
export const MOST = 100;

/** A deployment among others: its name means nothing without its environment. */
export function nameOf({ environment, name }: Deployment): string {
  return `${environment}/${name}`;
}

/** Those that have all words that were typed, in alphabetical order. */
export function findDeployments(all: Deployment[], typed: string): Deployment[] {
  const words = typed.toLowerCase().split(/\s+/);
  const has = (one: Deployment) => {
    const text = `${nameOf(one)} ${one.project} ${one.created_by}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  return all.filter(has).sort((a, b) => nameOf(a).localeCompare(nameOf(b)));
}
