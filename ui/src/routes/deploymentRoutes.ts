import { createRoute } from "@tanstack/react-router";
import { app, loadPage } from "@/routes/parents";
import { readListSearch } from "../lists/listSearch";
import { readCreateSearch } from "../pages/create/search";
import { readPageSearch } from "../pages/deployment/search";
import { Deployments } from "../pages/deployments/Deployments";
import { type Filters, readFilters } from "../pages/deployments/filters";

export const deployments = createRoute({
  getParentRoute: () => app,
  path: "/deployments",
  staticData: { shape: "list" },
  validateSearch: (search: Record<string, unknown>): Filters => readFilters(search),
  component: Deployments,
});

export const create = createRoute({
  getParentRoute: () => deployments,
  path: "/new",
  staticData: { shape: "sheet" },
  validateSearch: readCreateSearch,
  component: loadPage(() => import("../pages/create/Create"), "Create"),
});

export type DiffSearch = { a?: string; b?: string };

export const diff = createRoute({
  getParentRoute: () => app,
  path: "/deployments/diff",
  staticData: { shape: "form" },
  validateSearch: (search: Record<string, unknown>): DiffSearch => ({
    a: text(search.a),
    b: text(search.b),
  }),
  component: loadPage(() => import("../pages/diff/Diff"), "Diff"),
});

export const deployment = createRoute({
  getParentRoute: () => app,
  path: "/deployments/$environment/$name/{-$tab}",
  staticData: { shape: "deployment" },
  validateSearch: readPageSearch,
  component: loadPage(() => import("../pages/deployment/Deployment"), "ByName"),
});

export const permalink = createRoute({
  getParentRoute: () => app,
  path: "/d/$id/{-$tab}",
  staticData: { shape: "deployment" },
  validateSearch: readPageSearch,
  component: loadPage(() => import("../pages/deployment/Deployment"), "ById"),
});

export const urls = createRoute({
  getParentRoute: () => app,
  path: "/urls",
  staticData: { shape: "cards" },
  validateSearch: readListSearch,
  component: loadPage(() => import("../pages/urls/Urls"), "Urls"),
});

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
