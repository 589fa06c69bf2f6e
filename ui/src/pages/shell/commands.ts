import type { Deployment } from "@/api/client";
import { shownState } from "@/api/deploymentState";
import type { PageAction } from "@/components/pageActions";
import { paletteTexts as t } from "@/pages/shell/paletteTexts";
import { shellTexts } from "@/pages/shell/shellTexts";
import { onlySet } from "../deployments/filters";
import type { View } from "../deployments/views";
import { placesFor } from "./navigation";
import { unlistedPlaces } from "./unlistedPlaces";

/** One line of the palette: where it leads, or why it can't be done. */
export type Command = {
  id: string;
  group: "here" | "recent" | "acts" | "pages" | "deployments" | "things";
  label: string;
  /** More search words, and the text shown after the label. */
  words?: string;
  detail?: string;
  state?: string;
  keys?: string;
  reason?: string;
  to?: string;
  search?: Record<string, unknown>;
  run?: "theme" | "shortcuts" | "leave" | (() => void);
};

type Person = { role: string };
/** Why a person may not create, and may not define; nothing when they may. */
type Lacks = { create?: string; admin?: string };

/** What the open page itself can do, with the reasons its buttons give. */
export function pageCommands(offers: PageAction[]): Command[] {
  return offers.map((offer, at) => ({ ...offer, id: `here ${at} ${offer.label}`, group: "here" }));
}

/** What can be done from anywhere. What a person may not do says who can, instead of doing nothing. */
export function globalCommands(lacks: Lacks, theme: "light" | "dark"): Command[] {
  const make = (id: string, label: string, to: string): Command => ({
    id,
    group: "acts",
    label,
    to,
    search: { add: true },
    reason: lacks.admin,
  });
  const all: Command[] = [
    {
      id: "create",
      group: "acts",
      label: t.acts.create,
      to: "/deployments/new",
      keys: "N",
      reason: lacks.create,
    },
    show("mine", t.acts.mine),
    show("attention", t.acts.attention),
    show("removed", t.acts.removed),
    make("new-project", t.acts.project, "/projects"),
    make("new-environment", t.acts.environment, "/environments"),
    make("new-service", t.acts.service, "/services"),
    make("new-plugin", t.acts.plugin, "/plugins"),
    make("new-registry", t.acts.registry, "/registries"),
    make("new-secret", t.acts.secret, "/secrets"),
    make("new-node", t.acts.node, "/nodes"),
    make("new-user", t.acts.user, "/users"),
    make("new-team", t.acts.team, "/teams"),
    {
      ...make("new-template", t.acts.template, "/templates"),
      reason: lacks.create,
    },
    make("new-rule", t.acts.rule, "/rules"),
    make("new-webhook", t.acts.webhook, "/webhooks"),
    { id: "verify", group: "acts", label: t.acts.verify, to: "/audit", reason: lacks.admin },
    {
      id: "theme",
      group: "acts",
      label: t.acts[theme === "dark" ? "light" : "dark"],
      words: "theme",
      run: "theme",
    },
    { id: "shortcuts", group: "acts", label: t.acts.shortcuts, keys: "?", run: "shortcuts" },
    { id: "leave", group: "acts", label: t.acts.leave, run: "leave" },
  ];
  return all;
}

const show = (view: string, label: string): Command => ({
  id: view,
  group: "acts",
  label,
  to: "/deployments",
  search: { view },
});

export function navigationCommands(person: Person): Command[] {
  const admin = person.role === "admin";
  const start: Command = {
    id: "/start",
    group: "pages",
    label: shellTexts.nav.start,
    to: "/start",
  };
  return [
    ...[...placesFor(admin), ...unlistedPlaces.filter((one) => admin || one.who === "all")].map(
      (place): Command => ({
        id: place.to,
        group: "pages",
        label: place.label,
        keys: place.key ? `G ${place.key.toUpperCase()}` : undefined,
        to: place.to,
      }),
    ),
    ...(admin ? [start] : []),
  ];
}

/** Deployments, the last changed first. */
export function deploymentCommands(all: Deployment[]): Command[] {
  return all.toSorted(byChange).map((one) => ({
    id: one.id,
    group: "deployments",
    label: one.name,
    detail: `${one.project}, ${one.environment}`,
    state: shownState(one),
    words: [
      ...one.versions.map((version) => version.tag),
      ...one.services.map((service) => service.url ?? ""),
    ].join(" "),
    to: `/d/${one.id}`,
  }));
}

const byChange = (a: Deployment, b: Deployment) => b.changed_at.localeCompare(a.changed_at);

type Kind = keyof typeof t.kinds;

/** Things that were defined, each leading to its sheet or page. */
export function definitionCommands(kind: Kind, names: string[] | undefined): Command[] {
  return (names ?? []).map((name) => {
    if (kind === "project") return thing(kind, name, `/projects/${name}/pipeline`);
    if (kind === "settings") return { ...thing(kind, name, "/projects"), search: { open: name } };
    if (kind === "node") return thing(kind, name, `/nodes/${name}`);
    const list = kind === "registry" ? "/registries" : `/${kind}s`;
    return { ...thing(kind, name, list), search: { open: name } };
  });
}

/** What each project has of its own; its page says which project in the address. */
export function projectCommands(kind: "secret" | "template", project: string, names: string[]) {
  return names.map((name) => ({
    ...thing(kind, name, `/${kind}s`),
    id: `${kind}/${project}/${name}`,
    detail: `${t.kinds[kind]}, ${project}`,
    search: { project, open: name },
  }));
}

/** The views a person saved of the list of deployments. */
export function savedViews(views: View[]): Command[] {
  return views.map(({ name, filters }) => ({
    ...thing("view", name, "/deployments"),
    search: onlySet(filters),
  }));
}

const thing = (kind: Kind, name: string, to: string): Command => ({
  id: `${kind}/${name}`,
  group: "things",
  label: name,
  detail: t.kinds[kind],
  to,
});

/**
 * The commands a search finds, best first: at the beginning, at a word, anywhere, in its other words.
 * Of equally good ones, those that were chosen last come first.
 */
export function searchCommands(all: Command[], search: string, recent: string[] = []): Command[] {
  const wanted = search.trim().toLowerCase();
  if (!wanted) return all;
  const age = ({ id }: Command) => (recent.includes(id) ? recent.indexOf(id) : recent.length);
  return all
    .map((command) => ({ command, rank: rank(command, wanted) }))
    .filter((one) => one.rank > 0)
    .sort((a, b) => b.rank - a.rank || age(a.command) - age(b.command))
    .map((one) => one.command);
}

function rank({ label, words = "", detail = "", reason }: Command, wanted: string): number {
  const name = label.toLowerCase();
  const least = reason ? 0.5 : 0;
  if (name.startsWith(wanted)) return 4 - least;
  if (name.split(/[\s/_-]+/).some((word) => word.startsWith(wanted))) return 3 - least;
  if (name.includes(wanted)) return 2 - least;
  return `${words} ${detail}`.toLowerCase().includes(wanted) ? 1 : 0;
}
