import { createRoute } from "@tanstack/react-router";
import { app, loadPage } from "@/routes/parents";
import { readListSearch } from "../lists/listSearch";
import { readAuditSearch } from "../pages/audit/search";

export const nodes = createRoute({
  getParentRoute: () => app,
  path: "/nodes",
  validateSearch: readListSearch,
  component: loadPage(() => import("../pages/nodes/Nodes"), "Nodes"),
});

export const node = createRoute({
  getParentRoute: () => app,
  path: "/nodes/$name",
  staticData: { shape: "form" },
  component: loadPage(() => import("../pages/nodes/NodePage"), "NodePage"),
});

export const fleet = createRoute({
  getParentRoute: () => app,
  path: "/fleet",
  staticData: { shape: "cards" },
  component: loadPage(() => import("../pages/fleet/Fleet"), "Fleet"),
});

export const alerts = createRoute({
  getParentRoute: () => app,
  path: "/alerts",
  component: loadPage(() => import("../pages/alerts/Alerts"), "Alerts"),
});

export const topology = createRoute({
  getParentRoute: () => app,
  path: "/topology",
  staticData: { shape: "cards" },
  component: loadPage(() => import("../pages/topology/Topology"), "Topology"),
});

export const people = createRoute({
  getParentRoute: () => app,
  path: "/users",
  validateSearch: readListSearch,
  component: loadPage(() => import("../pages/people/People"), "People"),
});

export const teams = createRoute({
  getParentRoute: () => app,
  path: "/teams",
  validateSearch: readListSearch,
  component: loadPage(() => import("../pages/people/Teams"), "Teams"),
});

export const teamAccess = createRoute({
  getParentRoute: () => app,
  path: "/teams/access",
  validateSearch: readListSearch,
  component: loadPage(() => import("../pages/people/AccessGrid"), "AccessGrid"),
});

export const audit = createRoute({
  getParentRoute: () => app,
  path: "/audit",
  validateSearch: readAuditSearch,
  component: loadPage(() => import("../pages/audit/Audit"), "Audit"),
});

export const rules = createRoute({
  getParentRoute: () => app,
  path: "/rules",
  validateSearch: readListSearch,
  component: loadPage(() => import("../pages/rules/Rules"), "Rules"),
});

export const sources = createRoute({
  getParentRoute: () => app,
  path: "/sources",
  validateSearch: readListSearch,
  component: loadPage(() => import("../pages/sources/Sources"), "Sources"),
});

export const usage = createRoute({
  getParentRoute: () => app,
  path: "/usage",
  validateSearch: readListSearch,
  component: loadPage(() => import("../pages/usage/Usage"), "Usage"),
});

export const webhooks = createRoute({
  getParentRoute: () => app,
  path: "/webhooks",
  validateSearch: readListSearch,
  component: loadPage(() => import("../pages/webhooks/Webhooks"), "Webhooks"),
});

export const settings = createRoute({
  getParentRoute: () => app,
  path: "/settings/{-$tab}",
  staticData: { shape: "form" },
  component: loadPage(() => import("../pages/settings/Settings"), "Settings"),
});
