import { useSuspenseQuery } from "@tanstack/react-query";
import { adminTexts as t } from "@/adminTexts";
import { me } from "@/api/queries/common";

/** Why the person cannot change what admins define; nothing when they can. */
export function useMayAdmin(): string | undefined {
  const { data: person } = useSuspenseQuery(me);
  return person.role === "admin" ? undefined : t.adminOnly;
}
