import { expect, it } from "vitest";
import type { Doc } from "./document";
import { findSteps } from "./findSteps";

const doc: Doc = {
  steps: [
    { key: "db", service: { name: "postgres", env: { POSTGRES_PASSWORD: "x" } } },
    { key: "web", needs: ["db"], service: { name: "shop-web", command: ["serve", "--port"] } },
    { key: "go", approval: { prompt: "Is the data right?", timeout_seconds: 60 } },
  ],
  comments: [],
};

it("finds steps by name, service, variable and value, all words at once", () => {
  expect(findSteps(doc, "web")).toEqual(["web"]);
  expect(findSteps(doc, "postgres_password")).toEqual(["db"]);
  expect(findSteps(doc, "serve port")).toEqual(["web"]);
  expect(findSteps(doc, "data right")).toEqual(["go"]);
  expect(findSteps(doc, "serve nothing")).toEqual([]);
  expect(findSteps(doc, " ")).toEqual([]);
});

it("does not find a step by what it waits for", () => {
  expect(findSteps(doc, "db")).toEqual(["db"]);
});
