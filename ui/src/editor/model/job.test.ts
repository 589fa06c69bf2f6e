import { expect, it } from "vitest";
import type { Schemas } from "@/api/client";
import { versionChanges, withCatalogueCopy } from "../compare/catalogueCopy";
import { type Catalogue, inputsOf, outputsOf } from "./catalogue";
import { type Doc, kindOf, pipelineOf, type Step, stepOf } from "./document";
import { changeStep, setField, withKind } from "./edit";
import { merge, threeWay } from "./merge";
import { parseClip } from "./pasteSteps";
import { problemsOf } from "./problems";
import { addReference } from "./references";
import { buildStep, fieldsOf, shortField } from "./stepFields";

const image = { registry_host: "docker.io", image: "shop/migrate", tag_mode: "selectable" };
const catalogue: Catalogue = {
  services: new Map([["migrate", image as Schemas["Service"]]]),
  plugins: new Map(),
  secrets: ["PASSWORD"],
};
const resources = { cpu: 0.5, memory_mib: 64 };
const job: Step = {
  key: "migrate",
  job: { name: "migrate", resources, env: { A: "1" }, files: [{ path: "/a", content: "x" }] },
};
const web: Step = { key: "web", service: { name: "migrate", resources } };
const docOf = (...steps: Step[]): Doc => ({ steps, comments: [] });
const fieldsWrong = (doc: Doc) =>
  problemsOf(doc, catalogue).map(({ step, field, code }) => `${step} ${field} ${code}`);

it("reads a job's container as a service's, and gives nothing to refer to", () => {
  expect(kindOf(job)).toBe("job");
  expect(inputsOf(job, catalogue).map(({ path }) => path)).toEqual([
    "job.env.A",
    "job.files[0].content",
    "job.command",
  ]);
  expect(outputsOf(job, catalogue)).toEqual([]);
  expect(problemsOf(docOf(job), catalogue)).toEqual([]);
});

it("finds what is wrong with a job at its field", () => {
  const wrong = { name: "nix", timeout_seconds: 86_401, tests: { junit: "" }, env: {} };
  const env = { A: "${{ secrets.NIX }}", B: "${{ services.migrate.host }}" };
  expect(fieldsWrong(docOf({ key: "a", job: { ...wrong, env, resources: { cpu: -1 } } }))).toEqual([
    "a job.timeout_seconds range",
    "a job.tests.junit required",
    "a job.resources.cpu range",
    "a job.name unknown_service",
    "a job.env.A unknown_secret",
    "a job.env.B unknown_step",
    "a job.resources.memory_mib advice",
  ]);
  expect(fieldsWrong(docOf({ key: "a", job: { name: "", resources } }))).toEqual([
    "a job.name required",
  ]);
});

it("says of a reference to a job that it has ended", () => {
  const reads = setField(docOf(job, web), "web", "service.env.X", "${{ services.migrate.host }}");
  const [found] = problemsOf(reads, catalogue);
  expect(found?.field).toBe("service.env.X");
  expect(found?.message).toContain("migrate is a job");
});

it("drops an output on a job's variables and command", () => {
  const doc = docOf(job, web);
  const named = addReference(doc, catalogue, "web", "host", "migrate", "job.env");
  expect(stepOf(named, "migrate")?.job?.env).toEqual({
    A: "1",
    WEB_HOST: "${{ services.web.host }}",
  });
  expect(stepOf(named, "migrate")?.needs).toEqual(["web"]);
  const called = addReference(doc, catalogue, "web", "host", "migrate", "job.command");
  expect(stepOf(called, "migrate")?.job?.command).toEqual(["${{ services.web.host }}"]);
});

it("makes a service a job and back, without what the other does not have", () => {
  const ports = [{ name: "http", port: 80, expose: true }];
  const ready = { tcp: { port: 80 } };
  const first: Step = {
    ...web,
    needs: ["db"],
    service: { name: "migrate", env: { A: "b" }, ports, ready, restart: "never", resources },
  };
  const made = withKind(first, "job");
  expect(made).toEqual({
    key: "web",
    needs: ["db"],
    job: { name: "migrate", env: { A: "b" }, ports: [{ name: "http", port: 80 }], resources },
  });
  const tests = { junit: "/r.xml" };
  const back = withKind({ ...job, job: { name: "m", tests, timeout_seconds: 5 } }, "service");
  expect(back).toEqual({ key: "migrate", service: { name: "m" } });
  expect(withKind(made, "job")).toBe(made);
});

it("sends a job without what the catalogue adds, and compares it with it", () => {
  const full = withCatalogueCopy(docOf(job), catalogue);
  expect(full.steps[0]?.job?.image?.repository).toBe("shop/migrate");
  expect(pipelineOf(full).steps).toEqual([job]);
  const [change] = versionChanges(docOf(job), full);
  expect(change?.fields).toEqual([
    { path: "job.image", old: undefined, now: "docker.io/shop/migrate" },
  ]);
});

it("compares and merges a job field by field", () => {
  const tests = { junit: "/r/*.xml", failed: "mark" as const };
  const full: Step = { ...job, job: { ...job.job, name: "migrate", tests } };
  expect(buildStep("migrate", fieldsOf(full))).toEqual(full);
  const named = ["job.env.A", "job.env.command", "job.command", "service.ports[1].port"];
  const told = ["service.resources.memory_mib", "service.ready.http.port", "needs", "other"];
  expect([...named, ...told].map(shortField)).toEqual([
    ...["A", "command", "Command", "Ports 2"],
    ...["Memory", "Ready when", "Runs after", "other"],
  ]);
  const mine = setField(docOf(job), "migrate", "job.env.A", "2");
  const theirs = setField(docOf(job), "migrate", "job.timeout_seconds", 5);
  expect(threeWay(docOf(job), mine, theirs).conflicts).toEqual([]);
  expect(stepOf(merge(docOf(job), mine, theirs, {}), "migrate")?.job).toMatchObject({
    env: { A: "2" },
    timeout_seconds: 5,
  });
});

it("leaves a step one kind when another window changes the old one", () => {
  const mine = changeStep(docOf(web), "web", (step) => withKind(step, "job"));
  const theirs = setField(docOf(web), "web", "service.env.NEW", "1");
  const [merged] = merge(docOf(web), mine, theirs, {}).steps;
  expect(merged && Object.keys(merged).sort()).toEqual(["job", "key"]);
});

it("takes a job from the clipboard, and says what is wrong with one", () => {
  const clip = (body: object) =>
    JSON.stringify({ nullops: "pipeline-steps", steps: [{ key: "a", job: body }] });
  expect(parseClip(clip({ name: "m", tests: { junit: "/r.xml" } }))).toHaveProperty("steps");
  expect(parseClip(clip({ name: "m", tests: {} }))).toEqual({ wrong: "steps[0].job.tests.junit" });
  expect(parseClip(clip({ name: "m", env: { A: 1 } }))).toEqual({ wrong: "steps[0].job.env.A" });
});
