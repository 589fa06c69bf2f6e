import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import { isSignedOut } from "./api/client";
import { me } from "./api/queries/common";
import { loadChunk } from "./components/loadChunk";
import { Skeletons } from "./components/States";
import { readPipelineSearch } from "./editor/pipelineSearch";
import { readListSearch } from "./lists/listSearch";
import { type AuditSearch, readAuditSearch } from "./pages/audit/search";
import { readCreateSearch } from "./pages/create/search";
import { readPageSearch } from "./pages/deployment/search";
import { Deployments } from "./pages/deployments/Deployments";
import { type Filters, readFilters } from "./pages/deployments/filters";
import { ErrorPage, NotFound } from "./pages/shell/ErrorPages";
import { Frame } from "./pages/shell/Frame";
import { SignIn } from "./pages/sign-in/SignIn";

const root = createRootRouteWithContext<{ queryClient: QueryClient }>()({
  component: Outlet,
  notFoundComponent: NotFound,
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: (search: Record<string, unknown>): { next?: string } =>
    typeof search.next === "string" ? { next: search.next } : {},
  component: SignIn,
});

const invitation = createRoute({
  getParentRoute: () => root,
  path: "/invitation",
  component: lazyRouteComponent(
    () => loadChunk(() => import("./pages/account/OneTime")),
    "Invitation",
  ),
});

const reset = createRoute({
  getParentRoute: () => root,
  path: "/reset",
  component: lazyRouteComponent(() => loadChunk(() => import("./pages/account/OneTime")), "Reset"),
});

const app = createRoute({
  getParentRoute: () => root,
  id: "app",
  beforeLoad: async ({ context, location }) => {
    try {
      await context.queryClient.ensureQueryData(me);
    } catch (error) {
      if (isSignedOut(error)) throw redirect({ to: "/sign-in", search: { next: location.href } });
      throw error;
    }
  },
  component: Frame,
});

const home = createRoute({
  getParentRoute: () => app,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/deployments" });
  },
});

const deployments = createRoute({
  getParentRoute: () => app,
  path: "/deployments",
  validateSearch: (search: Record<string, unknown>): Filters => readFilters(search),
  component: Deployments,
});

const create = createRoute({
  getParentRoute: () => deployments,
  path: "/new",
  validateSearch: readCreateSearch,
  component: lazyRouteComponent(() => loadChunk(() => import("./pages/create/Create")), "Create"),
});

export type DiffSearch = { a?: string; b?: string };

const diff = createRoute({
  getParentRoute: () => app,
  path: "/deployments/diff",
  validateSearch: (search: Record<string, unknown>): DiffSearch => ({
    a: text(search.a),
    b: text(search.b),
  }),
  component: lazyRouteComponent(() => loadChunk(() => import("./pages/diff/Diff")), "Diff"),
});

const deployment = createRoute({
  getParentRoute: () => app,
  path: "/deployments/$environment/$name/{-$tab}",
  validateSearch: readPageSearch,
  component: lazyRouteComponent(
    () => loadChunk(() => import("./pages/deployment/Deployment")),
    "ByName",
  ),
});

const permalink = createRoute({
  getParentRoute: () => app,
  path: "/d/$id/{-$tab}",
  validateSearch: readPageSearch,
  component: lazyRouteComponent(
    () => loadChunk(() => import("./pages/deployment/Deployment")),
    "ById",
  ),
});

const nodes = createRoute({
  getParentRoute: () => app,
  path: "/nodes",
  validateSearch: readListSearch,
  component: lazyRouteComponent(() => loadChunk(() => import("./pages/nodes/Nodes")), "Nodes"),
});

const node = createRoute({
  getParentRoute: () => app,
  path: "/nodes/$name",
  component: lazyRouteComponent(
    () => loadChunk(() => import("./pages/nodes/NodePage")),
    "NodePage",
  ),
});

const environments = createRoute({
  getParentRoute: () => app,
  path: "/environments",
  validateSearch: readListSearch,
  component: lazyRouteComponent(
    () => loadChunk(() => import("./pages/environments/Environments")),
    "Environments",
  ),
});

const registries = createRoute({
  getParentRoute: () => app,
  path: "/registries",
  validateSearch: readListSearch,
  component: lazyRouteComponent(
    () => loadChunk(() => import("./pages/registries/Registries")),
    "Registries",
  ),
});

const services = createRoute({
  getParentRoute: () => app,
  path: "/services",
  validateSearch: readListSearch,
  component: lazyRouteComponent(
    () => loadChunk(() => import("./pages/services/Services")),
    "Services",
  ),
});

const plugins = createRoute({
  getParentRoute: () => app,
  path: "/plugins",
  validateSearch: readListSearch,
  component: lazyRouteComponent(
    () => loadChunk(() => import("./pages/plugins/Plugins")),
    "Plugins",
  ),
});

const secrets = createRoute({
  getParentRoute: () => app,
  path: "/secrets",
  validateSearch: readListSearch,
  component: lazyRouteComponent(
    () => loadChunk(() => import("./pages/secrets/Secrets")),
    "Secrets",
  ),
});

const templates = createRoute({
  getParentRoute: () => app,
  path: "/templates",
  validateSearch: readListSearch,
  component: lazyRouteComponent(
    () => loadChunk(() => import("./pages/templates/Templates")),
    "Templates",
  ),
});

const fleet = createRoute({
  getParentRoute: () => app,
  path: "/fleet",
  component: lazyRouteComponent(() => loadChunk(() => import("./pages/fleet/Fleet")), "Fleet"),
});

const people = createRoute({
  getParentRoute: () => app,
  path: "/users",
  validateSearch: readListSearch,
  component: lazyRouteComponent(() => loadChunk(() => import("./pages/people/People")), "People"),
});

const teams = createRoute({
  getParentRoute: () => app,
  path: "/teams",
  validateSearch: readListSearch,
  component: lazyRouteComponent(() => loadChunk(() => import("./pages/people/Teams")), "Teams"),
});

const teamAccess = createRoute({
  getParentRoute: () => app,
  path: "/teams/access",
  validateSearch: readListSearch,
  component: lazyRouteComponent(
    () => loadChunk(() => import("./pages/people/AccessGrid")),
    "AccessGrid",
  ),
});

const account = createRoute({
  getParentRoute: () => app,
  path: "/account",
  component: lazyRouteComponent(
    () => loadChunk(() => import("./pages/account/Account")),
    "Account",
  ),
});

const audit = createRoute({
  getParentRoute: () => app,
  path: "/audit",
  validateSearch: (search: Record<string, unknown>): AuditSearch => readAuditSearch(search),
  component: lazyRouteComponent(() => loadChunk(() => import("./pages/audit/Audit")), "Audit"),
});

const rules = createRoute({
  getParentRoute: () => app,
  path: "/rules",
  validateSearch: readListSearch,
  component: lazyRouteComponent(() => loadChunk(() => import("./pages/rules/Rules")), "Rules"),
});

const webhooks = createRoute({
  getParentRoute: () => app,
  path: "/webhooks",
  validateSearch: readListSearch,
  component: lazyRouteComponent(
    () => loadChunk(() => import("./pages/webhooks/Webhooks")),
    "Webhooks",
  ),
});

const settings = createRoute({
  getParentRoute: () => app,
  path: "/settings/{-$tab}",
  component: lazyRouteComponent(
    () => loadChunk(() => import("./pages/settings/Settings")),
    "Settings",
  ),
});

const urls = createRoute({
  getParentRoute: () => app,
  path: "/urls",
  validateSearch: readListSearch,
  component: lazyRouteComponent(() => loadChunk(() => import("./pages/urls/Urls")), "Urls"),
});

const start = createRoute({
  getParentRoute: () => app,
  path: "/start",
  component: lazyRouteComponent(() => loadChunk(() => import("./pages/start/Start")), "Start"),
});

const projects = createRoute({
  getParentRoute: () => app,
  path: "/projects",
  validateSearch: readListSearch,
  component: lazyRouteComponent(
    () => loadChunk(() => import("./pages/projects/Projects")),
    "Projects",
  ),
});

const project = createRoute({
  getParentRoute: () => app,
  path: "/projects/$name/pipeline",
  validateSearch: readPipelineSearch,
  component: lazyRouteComponent(
    () => loadChunk(() => import("./pages/projects/Pipeline")),
    "Pipeline",
  ),
});

/** Every component in every state, without a server; the build drops it with its page. */
const gallery = import.meta.env.DEV
  ? [
      createRoute({
        getParentRoute: () => root,
        path: "/components",
        component: lazyRouteComponent(
          () => loadChunk(() => import("./pages/components/Components")),
          "Components",
        ),
      }),
    ]
  : [];

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

const tree = root.addChildren([
  signIn,
  invitation,
  reset,
  ...(gallery as []),
  app.addChildren([
    home,
    deployments.addChildren([create]),
    diff,
    deployment,
    permalink,
    nodes,
    node,
    environments,
    registries,
    services,
    plugins,
    secrets,
    templates,
    fleet,
    people,
    teams,
    teamAccess,
    account,
    audit,
    rules,
    webhooks,
    settings,
    urls,
    start,
    projects,
    project,
  ]),
]);

/** A page on its way has its bar already, so that nothing moves when it is there. */
function Pending() {
  return (
    <>
      <div className="top" />
      <Skeletons count={12} />
    </>
  );
}

export function makeRouter(queryClient: QueryClient) {
  return createRouter({
    routeTree: tree,
    context: { queryClient },
    defaultErrorComponent: ErrorPage,
    defaultNotFoundComponent: NotFound,
    defaultPendingComponent: Pending,
    defaultPendingMs: 150,
    // The theme, the scroll of a list: the browser's own restoration is enough.
    scrollRestoration: false,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
