import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { adminTexts as t } from "@/adminTexts";
import { grantors } from "@/api/queries/access";
import { me } from "@/api/queries/common";

/** Why the person cannot change what admins define, and who can; nothing when they may themselves. */
export function useMayAdmin(): string | undefined {
  const { data: person } = useSuspenseQuery(me);
  const admin = person.role === "admin";
  const names = useQuery({ ...grantors, enabled: !admin }).data;
  return admin ? undefined : t.adminsAre(names ?? []);
}
