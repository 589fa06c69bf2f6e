import { expect, it } from "vitest";
import type { Catalogue } from "../model/catalogue";
import type { Doc } from "../model/document";
import {
  connectionsWith,
  drawConnection,
  obviousConnection,
  type PortEnd,
} from "./stepConnections";

const schema = (properties: object, required: string[] = []) => ({ properties, required });
const make = {
  name: "make",
  tag: "1",
  component: {
    parameters: schema(
      { host: { type: "string" }, database: { type: "string" }, port: { type: "integer" } },
      ["host", "port"],
    ),
    outputs: schema({ url: { type: "string" } }),
  },
};
const catalogue = {
  services: new Map(),
  plugins: new Map([["make", make]]),
  secrets: [],
} as unknown as Catalogue;
const doc: Doc = {
  steps: [
    { key: "db", service: { name: "db", ports: [{ name: "sql", port: 5432 }] } },
    { key: "make", plugin: { name: "make" } },
    { key: "web", service: { name: "web", env: { API: "" } } },
    { key: "two", service: { name: "two", env: { A: "", B: "" } } },
  ],
  comments: [],
};
const from = (handle: string, node = "db"): PortEnd => ({ node, handle, type: "source" });
const labels = (end: PortEnd, key: string) =>
  connectionsWith(doc, catalogue, end, key).map((way) => way.label);

it("offers the fields of a step that take the output, the one of its name first", () => {
  expect(labels(from("out:host"), "make")).toEqual(["host", "database"]);
  expect(labels(from("out:port"), "make")[0]).toBe("port");
  expect(labels(from("out:host"), "db")).toEqual([]);
});

it("takes the field that is meant without a doubt, and asks otherwise", () => {
  const obvious = (end: PortEnd, key: string) =>
    obviousConnection(connectionsWith(doc, catalogue, end, key), end)?.label;
  expect(obvious(from("out:host"), "make")).toBe("host");
  expect(obvious(from("out:host"), "web")).toBe("API");
  // A service without variables has but one place for it: a new one.
  expect(obvious(from("out:url", "make"), "db")).toBe("a new variable");
  expect(obvious(from("out:url", "make"), "two")).toBeUndefined();
  expect(obvious(from("after"), "web")).toBe("Runs after");
});

it("leads a line from a field to the output of the step that it is dropped on", () => {
  const end: PortEnd = { node: "make", handle: "in:plugin.parameters.port", type: "target" };
  const [way, ...others] = connectionsWith(doc, catalogue, end, "db");
  expect(others).toEqual([]);
  const next = way && drawConnection(doc, catalogue, way.connection);
  expect(next?.steps[1]?.plugin?.parameters).toEqual({ port: "${{ services.db.port }}" });
  expect(next?.steps[1]?.needs).toEqual(["db"]);
});

it("offers nothing that would be a circle", () => {
  const after = {
    ...doc,
    steps: doc.steps.map((one) => (one.key === "db" ? { ...one, needs: ["web"] } : one)),
  };
  expect(connectionsWith(after, catalogue, from("after"), "web")).toEqual([]);
});
