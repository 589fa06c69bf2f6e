import { expect, it } from "vitest";
import { wordsOf } from "./filterWords";
import { placeOf } from "./objectPage";
import { auditQuery } from "./search";

const ID = "019a7c58-0f44-7e57-8c3c-93a0fb4f0a11";

it.each([
  ["service api", { to: "/services", search: { open: "api" } }],
  ["user lena", { to: "/users", search: { open: "lena" } }],
  ["node n-1", { to: "/nodes/$name", params: { name: "n-1" } }],
  ["secret A_B of shop", { to: "/secrets", search: { project: "shop", open: "A_B" } }],
  ["secret A_B of deployment", { to: "/secrets", search: { project: "deployment", open: "A_B" } }],
  ["secret A_B of deployment cart", { to: "/deployments", search: { q: "cart" } }],
  ["template slim of shop", { to: "/templates", search: { project: "shop", open: "slim" } }],
  ["pipeline of shop, version 3", { to: "/projects/$name/pipeline", params: { name: "shop" } }],
  [`deployment ${ID} on node n-1`, { to: "/d/$id/{-$tab}", params: { id: ID } }],
  ["deployment cart", { to: "/deployments", search: { q: "cart" } }],
  ["service web of deployment cart", undefined],
  ["certificate authority", undefined],
  ["user", undefined],
  ["", undefined],
])("%s leads to its page", (object, place) => {
  expect(placeOf(object, true)).toEqual(place);
});

it("leads nobody to a page that only admins have", () => {
  expect(placeOf("user lena", false)).toBeUndefined();
  expect(placeOf("service api", false)).toBeDefined();
});

it("offers what entries are about, and everybody to an admin, each once", () => {
  const entry = (actor: string, action: string, object: string) => ({
    id: "1",
    at: "",
    actor,
    action,
    object,
    result: "ok" as const,
  });
  const entries = [entry("system:move", "put service", "service b"), entry("ada", "rotate", "")];
  expect(wordsOf([...entries, ...entries], ["ada", "lena"])).toEqual({
    who: ["ada", "lena", "system:move"],
    what: ["put service", "rotate"],
    on: ["service b"],
  });
});

it("takes what a phone's keyboard makes of a word for the word", () => {
  expect(auditQuery({ who: "ada ", what: "Put service" })).toMatchObject({
    actor: "ada",
    action: "put service",
  });
});
