import { describe, expect, it } from "vitest";
import type { Deployment } from "@/api/client";
import { stateMessage } from "./stateMessage";

const made = (more: Partial<Deployment>) =>
  ({ status: "ready", node: "fra-02", services: [], ...more }) as Deployment;
const node_offline_since = "2026-11-21T14:02:00Z";
const failure = { step: "seed", message: "exit code 3" } as Deployment["failure"];
const said = (more: Partial<Deployment>) => stateMessage(made(more), []);

describe("what a person has to know", () => {
  it("is nothing of what is ready", () => expect(said({})).toBeUndefined());

  it("is that the node is out of reach, and since when", () => {
    const all = said({ node_offline_since });
    expect(all?.state).toBe("offline");
    expect(all?.title).toMatch(/^fra-02 has been out of reach since \d/);
  });

  it("is first why it failed, and then that its node is out of reach", () => {
    const all = said({ status: "failed", failure, node_offline_since });
    expect(all).toMatchObject({ state: "failed", title: "seed: exit code 3" });
    expect(all?.more.at(-1)).toMatch(/^fra-02 has been out of reach since/);
  });

  it("is first what is left of one that is stuck, and then that its node is out of reach", () => {
    const left = ["volume data"];
    const all = said({ status: "stuck", failure, left, node_offline_since });
    expect(all).toMatchObject({ state: "stuck", title: "seed: exit code 3", left });
    expect(all?.more.at(-1)).toMatch(/^fra-02 has been out of reach since/);
  });

  it("is of what is gone nothing about its node", () => {
    const all = said({ status: "removed", node_offline_since });
    expect(all?.title).toBe("This deployment was removed.");
    expect(all?.more.join(" ")).not.toMatch(/out of reach/);
  });

  it("is of one that leaves for another node that it goes there, not that it is removed", () => {
    const leaving = said({ status: "removing", moving: true });
    expect(leaving?.title).toBe("It is moving to another node.");
    expect(leaving?.more.join(" ")).toMatch(/created there with the same name/);
    expect(said({ moving: true })?.more.join(" ")).toMatch(/volumes are copied/);
    expect(said({ status: "removed", moving: true })?.title).toBe("It is moving to another node.");
  });

  it("is afterwards which one it became", () =>
    expect(said({ status: "removed", moved_to: "other" })).toMatchObject({
      title: "It was moved to another node.",
      to: "other",
    }));
});
