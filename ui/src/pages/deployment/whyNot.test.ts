import { describe, expect, it } from "vitest";
import type { Deployment } from "@/api/client";
import { activeHold } from "./activeHold";
import { type Act, whyNot } from "./whyNot";

const ann = { name: "ann", role: "user" } as const;
const root = { name: "root", role: "admin" } as const;
const hour = (by: number) => new Date(Date.now() + by * 3_600_000).toISOString();

const made = (more: Partial<Deployment> = {}) =>
  ({ status: "ready", expires_at: hour(2), ...more }) as Deployment;
const held = (owner: string, until?: string) =>
  made({ hold: { owner, reason: "a demo", since: hour(-1), until } });

describe("what the API always refuses", () => {
  it("is nothing of what is ready", () => {
    const acts: Act[] = ["extend", "hold", "release", "remove", "retry", "recreate"];
    for (const act of acts) expect(whyNot(act, made(), ann)).toBeUndefined();
  });

  it("is making it again under a name that it took to another node", () => {
    for (const gone of [made({ moved_to: "other" }), made({ moving: true })]) {
      expect(whyNot("again", gone, ann)).toMatch(/moved to another node/);
      expect(whyNot("recreate", gone, ann)).toBeUndefined();
    }
  });

  it("is removal of what somebody else holds, for admins too, who can release it", () => {
    expect(whyNot("remove", held("bob"), ann)).toMatch(/bob holds it/);
    expect(whyNot("remove", held("bob"), root)).toMatch(/Release it first/);
    expect(whyNot("release", held("bob"), ann)).toMatch(/bob holds it/);
    expect(whyNot("release", held("bob"), root)).toBeUndefined();
    expect(whyNot("remove", held("ann"), ann)).toBeUndefined();
  });

  it("is nothing because of a hold that is over", () => {
    expect(activeHold(held("bob", hour(-1)))).toBeUndefined();
    expect(whyNot("remove", held("bob", hour(-1)), ann)).toBeUndefined();
    expect(whyNot("remove", held("bob", hour(1)), ann)).toMatch(/bob/);
  });

  it("is keeping what is on its way out, stuck there or not", () => {
    const leaving = [
      made({ status: "removing" }),
      made({ status: "stuck", removed_by: "bob" }),
      made({ status: "undoing", removed_by: "bob" }),
      made({ status: "undoing", failure: { code: "deadline", message: "too late" } }),
    ];
    for (const one of leaving)
      for (const act of ["extend", "hold"] as const)
        expect(whyNot(act, one, ann)).toMatch(/being removed/);
  });

  it("is not keeping what a failure undoes, or could not undo", () => {
    for (const status of ["undoing", "stuck"] as const)
      expect(whyNot("hold", made({ status }), ann)).toBeUndefined();
  });

  it("is to extend what has no end, and to make a drawing again", () => {
    expect(whyNot("extend", made({ expires_at: undefined }), ann)).toMatch(/no end/);
    for (const act of ["retry", "recreate"] as const)
      expect(whyNot(act, made({ scratch: true }), ann)).toMatch(/cannot be recreated/);
  });
});
