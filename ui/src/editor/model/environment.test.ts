import { expect, it } from "vitest";
import type { Catalogue } from "./catalogue";
import type { Doc } from "./document";
import { environmentOf, type Sample } from "./environment";

const catalogue: Catalogue = { services: new Map(), plugins: new Map(), secrets: ["TOKEN"] };
catalogue.plugins.set("make", {
  name: "make",
  component: { outputs: { properties: { key: { writeOnly: true }, rows: { type: "integer" } } } },
} as never);
const sample: Sample = { name: "sample", environment: "qa", project: "shop", domain: "test" };
const open = { scheme: "https", suffix: "qa.test:8443" };

/** What a variable of a service behind a database, a plugin and an API comes to. */
function shown(value: string, more: object = {}) {
  const ports = [{ name: "http", port: 8080, expose: true }];
  const doc: Doc = {
    steps: [
      { key: "db", service: { name: "db", ports: [{ name: "sql", port: 5432 }] } },
      { key: "api", service: { name: "api", ports } },
      { key: "make", plugin: { name: "make" } },
      { key: "web", needs: ["db", "api", "make"], service: { name: "web", env: { A: value } } },
    ],
    comments: [],
  };
  const [, , , web] = doc.steps;
  if (!web) throw new Error("no step");
  return environmentOf(web, doc, catalogue, { ...sample, ...more })[0]?.pieces ?? [];
}
const text = (value: string) =>
  shown(value)
    .map((one) => one.text)
    .join("");

it("shows what is known, and of secrets only that there is one", () => {
  expect(text("http://${{ services.db.host }}:${{ services.db.port }}/")).toBe("http://db:5432/");
  expect(text("${{ deployment.environment }}, ${{ steps.make.outputs.key }}")).toBe("qa, [secret]");
  expect(text("${{ secrets.TOKEN }}")).toBe("[secret]");
  expect(shown("${{ steps.make.outputs.rows }}").map((one) => one.kind)).toEqual(["later"]);
});

it("shows a URL as it will be, or that it is known only later", () => {
  expect(shown("${{ services.api.url }}", open)).toEqual([
    { text: "https://api.sample.qa.test:8443", kind: "known" },
  ]);
  expect(shown("${{ services.api.url }}").map((one) => one.kind)).toEqual(["later"]);
});

it("makes up no URL for a service that opens no port", () => {
  expect(shown("${{ services.db.url }}", open)).toEqual([
    {
      text: "${{ services.db.url }}",
      kind: "wrong",
      why: "db opens no port to browsers, so it has no URL.",
    },
  ]);
});

it("lets nothing look final that leads nowhere or cannot be read", () => {
  const kinds = (value: string) => shown(value).map((one) => [one.text, one.kind]);
  expect(kinds("a${{ secrets.NONE }}")).toEqual([
    ["a", "known"],
    ["${{ secrets.NONE }}", "wrong"],
  ]);
  expect(kinds("a${{ nothing }}b")).toEqual([
    ["a", "known"],
    ["${{ nothing }}b", "wrong"],
  ]);
  expect(kinds("${{ services.db")).toEqual([["${{ services.db", "wrong"]]);
});
