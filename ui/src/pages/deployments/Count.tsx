import type { Deployment } from "@/api/client";
import { type Filters, matching } from "./filters";

type Props = { read?: Deployment[]; filters: Filters; user: string };

/** How many there are; until that is known, the place of one digit. */
export function Count({ read, filters, user }: Props) {
  return <span className="n">{read ? matching(read, filters, user).length : "\u2007"}</span>;
}
