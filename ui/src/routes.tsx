import type { QueryClient } from "@tanstack/react-query";
import { createRoute, createRouter, redirect, useMatch, useMatches } from "@tanstack/react-router";
import { texts } from "@/texts";
import { type PageShape, PageSkeleton } from "./components/PageSkeleton";
import { ErrorPage, NotFound } from "./pages/shell/ErrorPages";
import {
  account,
  device,
  invitation,
  notices,
  reset,
  secondFactor,
  signIn,
} from "./routes/accountRoutes";
import {
  alerts,
  audit,
  fleet,
  node,
  nodes,
  people,
  rules,
  settings,
  sources,
  teamAccess,
  teams,
  topology,
  usage,
  webhooks,
} from "./routes/administrationRoutes";
import {
  environments,
  plugins,
  project,
  projects,
  registries,
  secrets,
  services,
  start,
  templates,
} from "./routes/catalogRoutes";
import { create, deployment, deployments, diff, permalink, urls } from "./routes/deploymentRoutes";
import { app, loadPage, root } from "./routes/parents";

const home = createRoute({
  getParentRoute: () => app,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/deployments" });
  },
});

/** Every component in every state, without a server; the build drops it with its page. */
const gallery = import.meta.env.DEV
  ? [
      createRoute({
        getParentRoute: () => root,
        path: "/components",
        component: loadPage(() => import("./pages/components/Components"), "Components"),
      }),
    ]
  : [];

const tree = root.addChildren([
  signIn,
  invitation,
  reset,
  secondFactor,
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
    alerts,
    fleet,
    topology,
    notices,
    people,
    teams,
    teamAccess,
    account,
    device,
    audit,
    rules,
    sources,
    webhooks,
    usage,
    settings,
    urls,
    start,
    projects,
    project,
  ]),
]);

/** A page on its way has its bar and its outline already, so that nothing moves when it is there. */
function Pending() {
  const shape = useMatches({ select: (all) => all[all.length - 1]?.staticData.shape }) ?? "list";
  // Before it is known who asks, the frame of all pages is on its way too.
  const framed = useMatch({ strict: false, select: (match) => match.routeId !== app.id });
  const page = (
    <>
      {shape === "sheet" ? null : (
        <div className="top">
          <h1 className="vh">{texts.loading}</h1>
        </div>
      )}
      <PageSkeleton shape={shape} />
    </>
  );
  return framed ? (
    page
  ) : (
    <div className="app">
      <div className="side" />
      <main className="main">{page}</main>
    </div>
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
  interface StaticDataRouteOption {
    /** What the page looks like while it is loaded. */
    shape?: PageShape;
  }
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
