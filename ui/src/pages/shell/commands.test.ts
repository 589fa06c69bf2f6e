import { expect, it } from "vitest";
import { acts, deploymentCommands, found, pages } from "./commands";
import { places } from "./navigation";

const admin = { role: "admin", can_create: true };
const viewer = { role: "user", can_create: false };

it("reaches every page, and shows a person only what could be theirs", () => {
  expect(pages(admin).map((one) => one.to)).toEqual(
    expect.arrayContaining(places.map((place) => place.to)),
  );
  const theirs = pages(viewer).map((one) => one.to);
  expect(theirs).toContain("/urls");
  expect(theirs).not.toContain("/secrets");
});

it("says why an act can't be done, and who can", () => {
  const lacks = {
    create: "Needs Full; root can give it.",
    admin: "Needs Admin; root can give it.",
  };
  const theirs = acts(lacks, "light");
  expect(theirs.find((one) => one.id === "create")?.reason).toBe(lacks.create);
  expect(theirs.find((one) => one.id === "new-project")?.reason).toBe(lacks.admin);
  expect(acts({}, "light").every((one) => !one.reason)).toBe(true);
});

it("finds a deployment by name, tag and URL, names first", () => {
  const all = deploymentCommands([
    {
      id: "1",
      name: "cart",
      project: "shop",
      environment: "qa",
      status: "ready",
      versions: [{ step: "web", tag: "feat-pay-1" }],
      services: [{ url: "http://web.cart.qa.localhost" }],
    },
    {
      id: "2",
      name: "pay",
      project: "shop",
      environment: "qa",
      status: "ready",
      versions: [],
      services: [],
    },
  ] as unknown as Parameters<typeof deploymentCommands>[0]);
  expect(found(all, "pay").map((one) => one.label)).toEqual(["pay", "cart"]);
  expect(found(all, "web.cart").map((one) => one.label)).toEqual(["cart"]);
});

it("has one letter for one page", () => {
  const letters = places.map((place) => place.key).filter(Boolean);
  expect(new Set(letters).size).toBe(letters.length);
});
