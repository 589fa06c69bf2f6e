import { describe, expect, it } from "vitest";
import { factsOf } from "./stepFacts";

const facts = (step: Parameters<typeof factsOf>[0]) =>
  Object.fromEntries(factsOf(step).map(({ name, value }) => [name, value]));

describe("a step to read", () => {
  it("tells everything of a service", () => {
    const all = facts({
      key: "web",
      needs: ["db"],
      service: {
        name: "web",
        image: { registry: "r", repository: "web", tag_mode: "selectable", pattern: "v*" },
        command: ["serve", "two words"],
        env: { HOST: "${{ services.db.host }}", EMPTY: "" },
        ports: [{ name: "http", port: 80, expose: true }],
        volumes: [{ name: "data", path: "/data", stays: true, read_only: true, shared: "site" }],
        files: [{ path: "/etc/a", content: "one\ntwo" }],
        resources: { memory_mib: 64 },
        ready: { http: { port: 80, path: "/up", status: 204 }, retries: 3 },
        restart: "never",
        gpus: { count: 2, vram_mib: 40_960 },
        entrypoint: ["/init", "two words"],
        user: "1000:1000",
        init: true,
        read_only: true,
        stop_signal: "SIGINT",
        stop_grace_seconds: 30,
        tmpfs: [{ path: "/tmp", size_mib: 64 }, { path: "/run" }],
        extra_hosts: [{ name: "mail", address: "192.0.2.1" }],
      },
    });
    expect(all).toMatchObject({
      "Runs after": "db",
      Image: "r/web",
      Command: 'serve "two words"',
      HOST: "${{ services.db.host }}",
      "Port http": "80, open to browsers",
      "Volume data": "/data, read only, shared as site, stays on its node",
      Entrypoint: '/init "two words"',
      User: "1000:1000",
      "Docker's init": "Yes",
      "Root file system": "read only",
      "Ends by": "SIGINT, within 30 s",
      "In memory /tmp": "64 MiB",
      "In memory /run": "no limit",
      "Host mail": "192.0.2.1",
      "File /etc/a": "one\ntwo",
      "Memory, MiB": "64",
      "CPU, cores": "no limit",
      "Ready when": "it answers HTTP: port 80, path /up, code 204, at most 3 times",
      GPUs: "2, 40960 MiB",
    });
    expect(all.EMPTY).toBe("empty");
  });

  it("tells of a job how long it may take and what failed tests mean, and of no readiness", () => {
    const tests = { junit: "/r/*.xml", failed: "mark" as const };
    const all = facts({ key: "check", job: { name: "suite", command: ["run"], tests } });
    expect(all).toMatchObject({
      Command: "run",
      Timeout: "10 min",
      "Test results": "/r/*.xml",
      "When tests fail": "the run goes on, and is marked",
    });
    expect(all).not.toHaveProperty("Ready when");
    expect(all).not.toHaveProperty("When it ends");
  });

  it("tells a plugin's own limits before its component's", () => {
    const all = facts({
      key: "db",
      plugin: {
        name: "db",
        component: { timeout_seconds: 60, network: true, actions: ["create"] },
        timeout_seconds: 120,
        parameters: { rows: 3 },
        secrets: { password: "${{ secrets.pw }}" },
      },
    });
    expect(all).toMatchObject({
      Timeout: "2 min",
      "Joins the network": "Yes",
      rows: "3",
      "Secret password": "${{ secrets.pw }}",
    });
  });

  it("tells who answers an approval, and with what", () => {
    const all = facts({
      key: "qa",
      approval: {
        prompt: "Loaded?",
        teams: ["QA"],
        fields: [{ name: "rows", type: "number", required: true, default: 3 }],
        timeout_seconds: 3600,
      },
    });
    expect(all).toMatchObject({
      Question: "Loaded?",
      "Teams that answer": "QA",
      "Field rows": "number, required, 3 at first",
      "Runs after": "nothing",
    });
  });
});
