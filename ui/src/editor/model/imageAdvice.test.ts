import { expect, it } from "vitest";
import { type Step, writeField } from "./document";
import { imageProblems, proposalsOf, type ServiceImage, takeAll } from "./imageAdvice";

const image: ServiceImage = {
  tag: "17",
  digest: "sha256:0",
  ports: [
    { port: 5432, protocol: "tcp" },
    { port: 8080, protocol: "tcp" },
    { port: 53, protocol: "udp" },
  ],
  env: [],
  volumes: ["/var/lib/postgresql/data"],
  requires: [{ name: "POSTGRES_PASSWORD", value: "${{ secrets.POSTGRES_PASSWORD }}" }],
};
const step: Step = { key: "db", service: { name: "postgres" } };
const doc = (one: Step) => ({ steps: [one], comments: [] });

it("proposes what the image says and the step does not", () => {
  expect(proposalsOf(step, image).map((one) => one.id)).toEqual([
    "env POSTGRES_PASSWORD",
    "port 5432",
    "port 8080",
    "service.ready",
    "volume /var/lib/postgresql/data",
  ]);
  expect(proposalsOf(step, undefined)).toEqual([]);
});

it("takes all of it over, and has nothing more to propose", () => {
  const full = takeAll(step, image, writeField);
  expect(full.service).toEqual({
    name: "postgres",
    env: { POSTGRES_PASSWORD: "${{ secrets.POSTGRES_PASSWORD }}" },
    ports: [
      { name: "port-5432", port: 5432 },
      { name: "http", port: 8080 },
    ],
    ready: { tcp: { port: 5432 } },
    volumes: [{ name: "data", path: "/var/lib/postgresql/data" }],
  });
  expect(proposalsOf(full, image)).toEqual([]);
});

it("prefers the image's own check", () => {
  const checked = { ...image, health: ["true"] };
  expect(takeAll(step, checked, writeField).service?.ready).toEqual({ image: true });
});

it("says what an image needs until it is given, also as a file", () => {
  const images = new Map([["postgres", image]]);
  expect(imageProblems(doc(step), images).map((one) => one.message)).toEqual([
    "postgres needs POSTGRES_PASSWORD",
  ]);
  for (const name of ["POSTGRES_PASSWORD", "POSTGRES_PASSWORD_FILE"]) {
    const given = writeField(step, `service.env.${name}`, "x");
    expect(imageProblems(doc(given), images)).toEqual([]);
  }
});

it("proposes no readiness for a job, which ends", () => {
  const job: Step = { key: "seed", job: { name: "postgres" } };
  expect(proposalsOf(job, image).map((one) => one.path)).not.toContain("service.ready");
  expect(proposalsOf(job, image)[0]?.path).toBe("job.env.POSTGRES_PASSWORD");
});
