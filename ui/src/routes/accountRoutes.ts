import { createRoute } from "@tanstack/react-router";
import { app, loadPage, root } from "@/routes/parents";

export const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  staticData: { shape: "form" },
  validateSearch: (search: Record<string, unknown>): { next?: string } =>
    typeof search.next === "string" ? { next: search.next } : {},
  component: loadPage(() => import("../pages/sign-in/SignIn"), "SignIn"),
});

export const invitation = createRoute({
  getParentRoute: () => root,
  path: "/invitation",
  staticData: { shape: "form" },
  component: loadPage(() => import("../pages/account/OneTime"), "Invitation"),
});

export const reset = createRoute({
  getParentRoute: () => root,
  path: "/reset",
  staticData: { shape: "form" },
  component: loadPage(() => import("../pages/account/OneTime"), "Reset"),
});

export const notices = createRoute({
  getParentRoute: () => app,
  path: "/notices",
  staticData: { shape: "list" },
  component: loadPage(() => import("../pages/notices/Notices"), "Notices"),
});

/** Where a person who must have a second factor adds it; they can do nothing else. */
export const secondFactor = createRoute({
  getParentRoute: () => root,
  path: "/second-factor",
  staticData: { shape: "form" },
  validateSearch: (search: Record<string, unknown>): { next?: string } =>
    typeof search.next === "string" ? { next: search.next } : {},
  component: loadPage(() => import("../pages/account/SecondFactorNeeded"), "SecondFactorNeeded"),
});

/** Where a person confirms the code that a program shows, to sign it in. */
export const device = createRoute({
  getParentRoute: () => app,
  path: "/device",
  staticData: { shape: "form" },
  validateSearch: (search: Record<string, unknown>): { code?: string } =>
    typeof search.code === "string" ? { code: search.code } : {},
  component: loadPage(() => import("../pages/account/DeviceLogin"), "DeviceLogin"),
});

export const account = createRoute({
  getParentRoute: () => app,
  path: "/account",
  staticData: { shape: "form" },
  component: loadPage(() => import("../pages/account/Account"), "Account"),
});
