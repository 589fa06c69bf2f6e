/** Where the object of an entry is shown: a page, with its sheet open if it has one. */
export type Place = {
  to: string;
  search?: Record<string, string>;
  params?: Record<string, string>;
};

const LISTS = {
  environment: "/environments",
  plugin: "/plugins",
  project: "/projects",
  registry: "/registries",
  rule: "/rules",
  service: "/services",
  team: "/teams",
  user: "/users",
  webhook: "/webhooks",
} as Record<string, string>;

/** Of one project: "secret SMTP_PASSWORD of shop". */
const OF_PROJECT = { secret: "/secrets", template: "/templates" } as Record<string, string>;

/** Pages that only admins have; to others their addresses lead nowhere. */
const ADMINS = ["/nodes/$name", "/rules", "/secrets", "/users", "/webhooks"];

const ID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;

/** The place of an object as the audit names it: its kind, its name, and where it belongs. */
export function placeOf(object: string, admin: boolean): Place | undefined {
  const place = anyPlace(object.split(" "));
  return place && !admin && ADMINS.includes(place.to) ? undefined : place;
}

function anyPlace([kind = "", name, of, owner, owned]: string[]): Place | undefined {
  if (!name) return undefined;
  if (kind === "pipeline" && name === "of" && of) return pipeline(of.replace(/,$/, ""));
  if (kind === "deployment") return deployment(name);
  if (kind === "node") return { to: "/nodes/$name", params: { name } };
  // A generated secret: "secret DB_PASSWORD of deployment cart".
  if (kind === "secret" && owner === "deployment" && owned) return deployment(owned);
  const own = OF_PROJECT[kind];
  if (own)
    return of === "of" && owner ? { to: own, search: { project: owner, open: name } } : undefined;
  const list = LISTS[kind];
  return list && !of ? { to: list, search: { open: name } } : undefined;
}

const pipeline = (name: string): Place => ({ to: "/projects/$name/pipeline", params: { name } });

/** What was refused is named, what was made has an id too. */
const deployment = (name: string): Place =>
  ID.test(name)
    ? { to: "/d/$id/{-$tab}", params: { id: name } }
    : { to: "/deployments", search: { q: name } };
