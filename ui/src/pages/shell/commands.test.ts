// @vitest-environment jsdom
import { QueryClient } from "@tanstack/react-query";
import { render } from "@testing-library/react";
import { createElement } from "react";
import { expect, it } from "vitest";
import { Button } from "@/components/Button";
import { listPageActions } from "@/components/pageActions";
import { makeRouter } from "@/routes";
import {
  definitionCommands,
  deploymentCommands,
  globalCommands,
  navigationCommands,
  pageCommands,
  projectCommands,
  savedViews,
  searchCommands,
} from "./commands";
import { alsoHolds, places } from "./navigation";

const admin = { role: "admin", can_create: true };
const viewer = { role: "user", can_create: false };

/** Where nobody is signed in, where one is led on, and what an act opens. */
const apart = [
  "/",
  "/sign-in",
  "/invitation",
  "/reset",
  "/second-factor",
  "/device",
  "/deployments/new",
  "/components",
];

it("reaches every page, and shows a person only what could be theirs", () => {
  const { routesByPath } = makeRouter(new QueryClient());
  // Pages of one thing are reached by its name.
  const all = Object.keys(routesByPath).filter((path) => !path.includes("$"));
  const reached = navigationCommands(admin).map((one) => one.to);
  expect(reached).toEqual(expect.arrayContaining(all.filter((path) => !apart.includes(path))));
  const theirs = navigationCommands(viewer).map((one) => one.to);
  expect(theirs).toContain("/urls");
  expect(theirs).not.toContain("/secrets");
});

it("says why an act can't be done, and who can", () => {
  const lacks = {
    create: "Needs Full; root can give it.",
    admin: "Needs Admin; root can give it.",
  };
  const theirs = globalCommands(lacks, "light");
  expect(theirs.find((one) => one.id === "create")?.reason).toBe(lacks.create);
  expect(theirs.find((one) => one.id === "new-project")?.reason).toBe(lacks.admin);
  expect(globalCommands({}, "light").every((one) => !one.reason)).toBe(true);
});

it("offers what the open page can do, for as long as its button is there", () => {
  const pressed: string[] = [];
  const { unmount } = render(
    createElement(Button, { act: "Clone it", onClick: () => pressed.push("clone") }, "Clone"),
  );
  expect(pageCommands(listPageActions())).toEqual([
    expect.objectContaining({ group: "here", label: "Clone it", reason: undefined }),
  ]);
  listPageActions()[0]?.run();
  expect(pressed).toEqual(["clone"]);
  unmount();
  expect(listPageActions()).toEqual([]);
});

it("leads to what was defined by name, to what a project has of its own and to saved views", () => {
  expect(definitionCommands("rule", ["previews"])[0]).toMatchObject({
    to: "/rules",
    search: { open: "previews" },
  });
  expect(definitionCommands("settings", ["shop"])[0]).toMatchObject({
    to: "/projects",
    search: { open: "shop" },
  });
  expect(projectCommands("secret", "shop", ["DB_PASSWORD"])[0]).toMatchObject({
    label: "DB_PASSWORD",
    to: "/secrets",
    search: { project: "shop", open: "DB_PASSWORD" },
  });
  expect(savedViews([{ name: "QA", filters: { env: "qa-eu", q: undefined } }])[0]).toMatchObject({
    to: "/deployments",
    search: { env: "qa-eu" },
  });
});

it("tells two acts of one name apart", () => {
  const twice = pageCommands([
    { label: "Save", run: () => {} },
    { label: "Save", run: () => {} },
  ]);
  expect(new Set(twice.map((one) => one.id)).size).toBe(2);
});

it("finds a deployment by name, tag and URL, names first", () => {
  const all = deploymentCommands([
    {
      id: "1",
      name: "cart",
      project: "shop",
      environment: "qa",
      status: "ready",
      changed_at: "2026-11-21T12:00:00Z",
      versions: [{ step: "web", tag: "feat-pay-1" }],
      services: [{ url: "http://web.cart.qa.localhost" }],
    },
    {
      id: "2",
      name: "pay",
      project: "shop",
      environment: "qa",
      status: "ready",
      changed_at: "2026-11-22T12:00:00Z",
      versions: [],
      services: [],
    },
  ] as unknown as Parameters<typeof deploymentCommands>[0]);
  expect(searchCommands(all, "pay").map((one) => one.label)).toEqual(["pay", "cart"]);
  expect(searchCommands(all, "web.cart").map((one) => one.label)).toEqual(["cart"]);
  // Both fit as well: the last changed first, and before it what was chosen last.
  expect(searchCommands(all, "shop").map((one) => one.label)).toEqual(["pay", "cart"]);
  expect(searchCommands(all, "shop", ["1"]).map((one) => one.label)).toEqual(["cart", "pay"]);
});

it("has one letter for one page", () => {
  const letters = places.map((place) => place.key).filter(Boolean);
  expect(new Set(letters).size).toBe(letters.length);
});

it("counts a deployment under its id among the deployments, and nothing else", () => {
  const held = (path: string) => places.filter((one) => alsoHolds(one, path)).map(({ to }) => to);
  expect(held("/d/01a20fef/logs")).toEqual(["/deployments"]);
  expect(held("/diff")).toEqual([]);
});
