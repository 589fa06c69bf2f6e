import {
  Bell,
  BellRing,
  Boxes,
  ChartColumn,
  Container,
  FolderGit2,
  Gauge,
  GitPullRequest,
  Globe,
  KeyRound,
  Layers,
  type LucideIcon,
  Network,
  Package,
  Puzzle,
  ScrollText,
  Server,
  Settings,
  Stamp,
  UserRound,
  UsersRound,
  Webhook,
  Workflow,
} from "lucide-react";
import { shellTexts } from "@/pages/shell/shellTexts";

const t = shellTexts.nav;

/** One page that can be gone to: from the sidebar, the palette and by keys. */
export type Place = {
  to: string;
  label: string;
  group: "" | "machines" | "parts" | "people" | "installation";
  icon?: LucideIcon;
  /** Whose page it is; "admin" pages are hidden from others, since nothing there is ever theirs. */
  who: "all" | "admin";
  /** The letter after G. */
  key?: string;
};

/**
 * The pages of the sidebar, in its order. A new page is one line here, or in unlistedPlaces, and a
 * route in routes.
 */
export const places: Place[] = [
  { to: "/deployments", label: t.deployments, group: "", icon: Layers, who: "all", key: "d" },
  { to: "/urls", label: t.urls, group: "", icon: Globe, who: "all", key: "u" },
  { to: "/alerts", label: t.alerts, group: "", icon: BellRing, who: "all" },
  { to: "/projects", label: t.projects, group: "", icon: Workflow, who: "all", key: "p" },
  { to: "/notices", label: t.notices, group: "", icon: Bell, who: "all", key: "i" },
  {
    to: "/environments",
    label: t.environments,
    group: "machines",
    icon: Boxes,
    who: "all",
    key: "e",
  },
  { to: "/fleet", label: t.fleet, group: "machines", icon: Gauge, who: "admin", key: "f" },
  {
    to: "/topology",
    label: t.topology,
    group: "machines",
    icon: Network,
    who: "admin",
    key: "o",
  },
  { to: "/nodes", label: t.nodes, group: "machines", icon: Server, who: "admin", key: "n" },
  { to: "/services", label: t.services, group: "parts", icon: Package, who: "all", key: "s" },
  { to: "/plugins", label: t.plugins, group: "parts", icon: Puzzle, who: "all", key: "l" },
  { to: "/registries", label: t.registries, group: "parts", icon: Container, who: "all", key: "r" },
  { to: "/secrets", label: t.secrets, group: "parts", icon: KeyRound, who: "admin", key: "k" },
  { to: "/templates", label: t.templates, group: "parts", icon: Stamp, who: "all", key: "m" },
  { to: "/users", label: t.users, group: "people", icon: UserRound, who: "admin", key: "w" },
  { to: "/teams", label: t.teams, group: "people", icon: UsersRound, who: "all", key: "t" },
  { to: "/audit", label: t.audit, group: "people", icon: ScrollText, who: "all", key: "a" },
  { to: "/usage", label: t.usage, group: "people", icon: ChartColumn, who: "all" },
  { to: "/rules", label: t.rules, group: "installation", icon: GitPullRequest, who: "admin" },
  { to: "/sources", label: t.sources, group: "installation", icon: FolderGit2, who: "admin" },
  { to: "/webhooks", label: t.webhooks, group: "installation", icon: Webhook, who: "admin" },
  { to: "/settings", label: t.settings, group: "installation", icon: Settings, who: "admin" },
];

/** The places of the sidebar that a person sees, by group. */
export function placesFor(admin: boolean): Place[] {
  return places.filter((place) => admin || place.who === "all");
}

/** Whether a page that stands elsewhere belongs there: a deployment has an address of its own by its id. */
export function alsoHolds({ to }: Pick<Place, "to">, path: string): boolean {
  return to === "/deployments" && path.startsWith("/d/");
}
