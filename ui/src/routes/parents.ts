import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import { isSignedOut } from "../api/client";
import { me } from "../api/queries/common";
import { loadChunk } from "../components/loadChunk";
import { NotFound } from "../pages/shell/ErrorPages";
import { Frame } from "../pages/shell/Frame";

/** A page that is loaded when it is opened first. */
export function loadPage<T extends Record<string, unknown>, K extends keyof T & string>(
  load: () => Promise<T>,
  name: K,
) {
  return lazyRouteComponent(() => loadChunk(load), name);
}

export const root = createRootRouteWithContext<{ queryClient: QueryClient }>()({
  component: Outlet,
  notFoundComponent: NotFound,
});

export const app = createRoute({
  getParentRoute: () => root,
  id: "app",
  beforeLoad: async ({ context, location }) => {
    let needsFactor = false;
    try {
      const person = await context.queryClient.ensureQueryData(me);
      needsFactor = person.second_factor_needed === true;
    } catch (error) {
      if (isSignedOut(error)) throw redirect({ to: "/sign-in", search: { next: location.href } });
      throw error;
    }
    if (needsFactor) throw redirect({ to: "/second-factor", search: { next: location.href } });
  },
  component: Frame,
});
