import { createRoute } from "@tanstack/react-router";
import { app, loadPage } from "@/routes/parents";
import { readPipelineSearch } from "../editor/pipelineSearch";
import { readListSearch } from "../lists/listSearch";

export const environments = createRoute({
  getParentRoute: () => app,
  path: "/environments",
  validateSearch: readListSearch,
  component: loadPage(() => import("../pages/environments/Environments"), "Environments"),
});

export const registries = createRoute({
  getParentRoute: () => app,
  path: "/registries",
  validateSearch: readListSearch,
  component: loadPage(() => import("../pages/registries/Registries"), "Registries"),
});

export const services = createRoute({
  getParentRoute: () => app,
  path: "/services",
  validateSearch: readListSearch,
  component: loadPage(() => import("../pages/services/Services"), "Services"),
});

export const plugins = createRoute({
  getParentRoute: () => app,
  path: "/plugins",
  validateSearch: readListSearch,
  component: loadPage(() => import("../pages/plugins/Plugins"), "Plugins"),
});

export const secrets = createRoute({
  getParentRoute: () => app,
  path: "/secrets",
  validateSearch: readListSearch,
  component: loadPage(() => import("../pages/secrets/Secrets"), "Secrets"),
});

export const templates = createRoute({
  getParentRoute: () => app,
  path: "/templates",
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
