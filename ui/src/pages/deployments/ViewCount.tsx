import type { Deployment } from "@/api/client";
import { type Filters, filterDeployments } from "./filters";

type Props = { read?: Deployment[]; filters: Filters; user: string };

/**
 * How many a view would show; until that is known, the place of one digit. Records are not counted:
 * they are read page by page, and only when they are looked at.
 */
export function ViewCount({ read, filters, user }: Props) {
  if (filters.view === "removed") return null;
  return (
    <span className="n">{read ? filterDeployments(read, filters, user).length : "\u2007"}</span>
  );
}
