import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import type { Deployment, Schemas } from "@/api/client";
import { explained, grantors } from "@/api/queries/access";
import { me } from "@/api/queries/common";
import { viewedName } from "@/api/viewAs";
import { markLack, type Wish } from "@/components/lack";
import { texts } from "@/texts";

// Why an action is not allowed: which grant is missing, and who can give it. Each hook returns the
// reason, by which a button is left out, or undefined if the user may act. Until the API has
// explained the access, the reason says what is known locally.

const t = texts.lack;

type Wanted = {
  may: boolean;
  /** The object as the API names it: project/NAME, environment/NAME, deployment/ID. */
  object: string;
  /** The object's name in the sentence. */
  on: string;
  /** The object that a request for access is stored under, if that is another one. */
  asked?: string;
  /** Objects with the same `place` share one explanation, which is requested once. */
  place?: string;
};

/** What the user lacks for full access to an object. */
export function usePermissionReason(wanted: Wanted): string | undefined {
  const { may, object, on, place, asked = object } = wanted;
  const found = useQuery({ ...explained(object, place), enabled: !may }).data;
  if (may) return undefined;
  return viewOnlyReason() ?? markLack(t.full(on, found), { object, stored: asked });
}

/**
 * What the user lacks to change a deployment. All of a project in an environment share one answer.
 */
export function usePermissionReasonOn({
  id,
  level,
  project,
  environment,
}: Deployment): string | undefined {
  return usePermissionReason({
    may: level === "full",
    object: `deployment/${id}`,
    asked: `project/${project}`,
    on: project,
    place: `deployments of ${project} on ${environment}`,
  });
}

/** What the user lacks to create a deployment anywhere. */
export function useReasonNotToCreate(): string | undefined {
  const { data: person } = useSuspenseQuery(me);
  const ask = useQuery({ ...grantors, enabled: !person.can_create }).data;
  if (person.can_create) return undefined;
  return viewOnlyReason() ?? markLack(t.create(ask ?? []), wish("create"));
}

/** What is missing to create one of this project in this environment: Full on either is enough. */
export function useReasonNotToCreateIn(
  project?: Schemas["Project"],
  environment?: Schemas["Environment"],
): string | undefined {
  const { data: person } = useSuspenseQuery(me);
  const enabled = Boolean(project && environment) && person.role !== "admin";
  const of = useQuery({ ...explained(`project/${project?.name}`), enabled }).data;
  const on = useQuery({ ...explained(`environment/${environment?.name}`), enabled }).data;
  if (!project || !environment) return undefined;
  const full = !of || !on || [of.level, on.level].includes("full");
  if (project.can_create && environment.can_create && full) return undefined;
  const reason = t.createIn(project.name, environment.name, of?.ask ?? on?.ask ?? []);
  return viewOnlyReason() ?? markLack(reason, wish(`project/${project.name}`));
}

/** Why the person cannot change what admins define. */
export function useReasonNotAdmin(): string | undefined {
  const { data: person } = useSuspenseQuery(me);
  const may = person.role === "admin";
  const ask = useQuery({ ...grantors, enabled: !may }).data;
  return may ? undefined : (viewOnlyReason() ?? markLack(t.admin(ask ?? []), wish("admin")));
}

/** While viewing as another user, nothing can be changed. */
function viewOnlyReason(): string | undefined {
  const name = viewedName();
  return name && markLack(t.looking(name));
}

function wish(object: string): Wish {
  return { object, stored: object };
}
