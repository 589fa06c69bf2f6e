import { expect, it } from "vitest";
import type { Deployment, Me } from "@/api/client";
import { whyNotInRow } from "./rowWhyNot";

const person = { name: "ann", role: "user" } as Me;
const make = (status: string, more: Partial<Deployment> = {}) =>
  ({ name: "cart", status, expires_at: "2099-01-01T00:00:00Z", ...more }) as unknown as Deployment;

it.each([
  ["retry", "failed"],
  ["extend", "ready"],
  ["remove", "ready"],
  ["remove", "applying"],
] as const)("%s acts on what is %s", (kind, status) =>
  expect(whyNotInRow(kind, make(status), person)).toBeUndefined(),
);

it.each([
  ["retry", make("ready"), /cart is ready/],
  ["extend", make("removed"), /cart is removed/],
  ["extend", make("ready", { expires_at: undefined }), /no end/],
  ["remove", make("removing"), /cart is removing/],
  ["remove", make("ready", { hold: { owner: "bob" } as never }), /bob holds it/],
] as const)("%s says why it does nothing", (kind, one, why) =>
  expect(whyNotInRow(kind, one, person)).toMatch(why),
);
