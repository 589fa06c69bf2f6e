/** Where a person mends it. */
export type Where =
  | { node: string }
  | { state: string }
  | { environment: string }
  | { page: "queue" | "backups" | "certificates" | "keys" };

export type Trouble = {
  id: string;
  /** How it looks: the states of StatusMark. */
  state: string;
  what: string;
  remedy: string;
  /** An RFC 3339 time. */
  since?: string;
  where: Where;
  /** What is wrong, the same for every node of which that is so: those stand together. */
  kind?: string;
  /** The kind in words, of so many nodes. */
  many?: (count: number) => string;
};

/** One trouble, or several of a kind. */
export type TroubleGroup = { first: Trouble; all: Trouble[] };

/** Those of a kind stand where the first of them stood. */
export function groupTroubles(troubles: Trouble[]): TroubleGroup[] {
  const groups = new Map<string, TroubleGroup>();
  for (const one of troubles) {
    const key = one.kind ? `${one.state} ${one.kind}` : one.id;
    const group = groups.get(key);
    if (group) group.all.push(one);
    else groups.set(key, { first: one, all: [one] });
  }
  return [...groups.values()];
}
