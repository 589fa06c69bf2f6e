import { createRoute } from "@tanstack/react-router";
import { app, loadPage } from "@/routes/parents";
import { readPipelineSearch } from "../editor/pipelineSearch";
import { readListSearch } from "../lists/listSearch";

export const environments = createRoute({
  getParentRoute: () => app,
  path: "/environments",
  staticData: { shape: "list" },
  validateSearch: readListSearch,
  component: loadPage(() => import("../pages/environments/Environments"), "Environments"),
});

export const registries = createRoute({
  getParentRoute: () => app,
  path: "/registries",
  staticData: { shape: "list" },
  validateSearch: readListSearch,
  component: loadPage(() => import("../pages/registries/Registries"), "Registries"),
});

export const services = createRoute({
  getParentRoute: () => app,
  path: "/services",
  staticData: { shape: "list" },
  validateSearch: readListSearch,
  component: loadPage(() => import("../pages/services/Services"), "Services"),
});

export const plugins = createRoute({
  getParentRoute: () => app,
  path: "/plugins",
  staticData: { shape: "list" },
  validateSearch: readListSearch,
  component: loadPage(() => import("../pages/plugins/Plugins"), "Plugins"),
});

export const secrets = createRoute({
  getParentRoute: () => app,
  path: "/secrets",
  staticData: { shape: "list" },
  validateSearch: readListSearch,
  component: loadPage(() => import("../pages/secrets/Secrets"), "Secrets"),
});

export const templates = createRoute({
  getParentRoute: () => app,
  path: "/templates",
  staticData: { shape: "list" },
  validateSearch: readListSearch,
  component: loadPage(() => import("../pages/templates/Templates"), "Templates"),
});

export const start = createRoute({
  getParentRoute: () => app,
  path: "/start",
  staticData: { shape: "form" },
  component: loadPage(() => import("../pages/start/Start"), "Start"),
});

export const projects = createRoute({
  getParentRoute: () => app,
  path: "/projects",
  staticData: { shape: "list" },
  validateSearch: readListSearch,
  component: loadPage(() => import("../pages/projects/Projects"), "Projects"),
});

export const project = createRoute({
  getParentRoute: () => app,
  path: "/projects/$name/pipeline",
  staticData: { shape: "editor" },
  validateSearch: readPipelineSearch,
  component: loadPage(() => import("../pages/projects/Pipeline"), "Pipeline"),
});
