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
};
