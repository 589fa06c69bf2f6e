import { expect, it } from "vitest";
import type { Deployment } from "@/api/client";
import { findDeployments, nameOf } from "./findDeployments";

const make = (environment: string, name: string) =>
  ({ environment, name, project: "shop", created_by: "lena" }) as Deployment;
const all = [make("qa", "pay"), make("eu", "cart"), make("qa", "cart")];

it.each([
  ["", ["eu/cart", "qa/cart", "qa/pay"]],
  ["CART", ["eu/cart", "qa/cart"]],
  ["cart qa", ["qa/cart"]],
  ["shop pay", ["qa/pay"]],
  ["nobody", []],
])("finds by %j, in order", (typed, names) =>
  expect(findDeployments(all, typed).map(nameOf)).toEqual(names),
);
