import { expect, it } from "vitest";
import type { Catalogue } from "./catalogue";
import type { Doc, Step } from "./document";
import { renameStep } from "./edit";
import { environmentOf } from "./environment";
import {
  calledText,
  parse,
  parseSingleExpression,
  parseSingleRef,
  wrapInFunction,
} from "./expressions";
import { problemsOf } from "./problems";
import { referenceOptions } from "./referenceOptions";
import { addReference, insertReference, removeReference } from "./references";

// What pipeline/functions.go reads, the editor reads, and refuses what it refuses.

const catalogue: Catalogue = {
  services: new Map([["db", {} as never]]),
  plugins: new Map([
    [
      "seed",
      {
        name: "seed",
        component: {
          secrets: [{ name: "dsn" }],
          parameters: { properties: { rows: { type: "integer" }, note: { type: "string" } } },
        },
      } as never,
    ],
  ]),
  secrets: ["PASS"],
};

const dsn = "postgres://app:${{ urlencode(secrets.PASS) }}@${{ services.db.host }}/shop";
const service = { name: "db", ports: [{ name: "sql", port: 5432 }], resources: { memory_mib: 64 } };

function docOf(plugin: object, env: Record<string, string> = {}): Doc {
  return {
    steps: [
      { key: "db", service: { ...service, env } },
      { key: "seed", needs: ["db"], plugin: { name: "seed", ...plugin } },
    ] as Step[],
    comments: [],
  };
}
const problems = (plugin: object) =>
  problemsOf(docOf(plugin), catalogue).map(({ field, code }) => [field, code]);

it.each([
  ["${{ urlencode(secrets.PASS) }}", "urlencode(secrets.PASS)"],
  ["${{ base64( json ( lower(secrets.PASS) ) ) }}", "base64(json(lower(secrets.PASS)))"],
])("reads %s", (text, said) => {
  const one = parseSingleExpression(text);
  expect(one && calledText(one.ref, one.calls)).toBe(said);
  // It is text, whatever the reference is, so it does not keep the type.
  expect(parseSingleRef(text)).toBeUndefined();
});

it.each([
  ["${{ upper(secrets.PASS) }}", "upper"],
  ["${{ lower(lower(lower(lower(secrets.PASS)))) }}", "More than 3"],
  ["${{ lower() }}", "exactly one"],
  ["${{ lower(secrets.PASS, secrets.PASS) }}", "exactly one"],
  ["${{ lower(secrets.PASS }}", "exactly one"],
  ["${{ lower(secrets.PASS) + 1 }}", "exactly one"],
  ["${{ lower('a') }}", "words and dots"],
])("refuses %s as the server does", (text, why) => {
  expect(parse(text).wrong?.why).toContain(why);
});

it("marks no problem where several references and functions make a plugin's secret", () => {
  expect(problems({ secrets: { dsn } })).toEqual([]);
  expect(problems({ parameters: { note: "${{ json(services.db.port) }}" } })).toEqual([]);
});

it("marks what a function's reference lacks, and a function's text where a number is wanted", () => {
  expect(problems({ secrets: { dsn: "${{ lower(secrets.NONE) }}" } })).toEqual([
    ["plugin.secrets.dsn", "unknown_secret"],
  ]);
  expect(problems({ parameters: { rows: "${{ services.db.port }}" } })).toEqual([]);
  expect(problems({ parameters: { rows: "${{ lower(services.db.port) }}" } })).toEqual([
    ["plugin.parameters.rows", "wrong_type"],
  ]);
});

it("offers functions for a reference that is there, and puts the chosen one around it", () => {
  const names = (value: string) => {
    const doc = docOf({ secrets: { dsn: value } });
    const [, seed] = doc.steps;
    if (!seed) throw new Error("no step");
    return referenceOptions(doc, catalogue, seed, "secret", "plugin.secrets.dsn").map(
      (one) => one.text,
    );
  };
  const functions = ["base64", "json", "lower", "urlencode"];
  expect(names("")).toEqual(["${{ secrets.PASS }}"]);
  expect(names("${{ secrets.PASS }}")).toEqual([...functions, "${{ secrets.PASS }}"]);
  expect(names("${{ lower(lower(lower(secrets.PASS))) }}")).toEqual(["${{ secrets.PASS }}"]);
  // Beside other text, a secret input takes the host of a database too.
  expect(names(dsn)).toContain("${{ services.db.host }}");
  expect(insertReference("${{ secrets.PASS }}", "base64")).toBe("${{ base64(secrets.PASS) }}");
  expect(wrapInFunction(dsn, "lower", dsn.indexOf("@"))).toBe(
    "postgres://app:${{ lower(urlencode(secrets.PASS)) }}@${{ services.db.host }}/shop",
  );
  expect(wrapInFunction("$${{ secrets.PASS }}", "lower")).toBe("$${{ secrets.PASS }}");
});

it("renames and removes what a function is around, and keeps the function", () => {
  const text = "${{ lower(services.db.host) }}:${{ services.db.port }}";
  const doc = docOf({ secrets: { dsn: text } });
  expect(renameStep(doc, "db", "main").steps[1]?.plugin?.secrets?.dsn).toBe(
    "${{ lower(services.main.host) }}:${{ services.main.port }}",
  );
  const less = removeReference(doc, "db", "host", "seed", "plugin.secrets.dsn");
  expect(less.steps[1]?.plugin?.secrets?.dsn).toBe(":${{ services.db.port }}");
});

it("draws an output into a plugin's secret beside what is there", () => {
  const doc = docOf({ secrets: { dsn: "${{ secrets.PASS }}@" } });
  const more = addReference(doc, catalogue, "db", "host", "seed", "plugin.secrets.dsn");
  expect(more.steps[1]?.plugin?.secrets?.dsn).toBe("${{ secrets.PASS }}@${{ services.db.host }}");
});

it("previews what a function comes to, and no secret", () => {
  const env = {
    A: "${{ lower(deployment.name) }} ${{ base64(deployment.name) }} ${{ urlencode(secrets.PASS) }}",
    B: "${{ urlencode(deployment.name) }} ${{ json(services.db.port) }}",
  };
  const doc = docOf({}, env);
  const [db] = doc.steps;
  if (!db) throw new Error("no step");
  const sample = { name: "Ä (1)", environment: "qa", project: "shop", domain: "test" };
  const texts = environmentOf(db, doc, catalogue, sample).map(({ pieces }) =>
    pieces.map((one) => one.text).join(""),
  );
  expect(texts).toEqual(["ä (1) w4QgKDEp [secret]", "%C3%84%20%281%29 5432"]);
});
