import { describe, expect, it } from "vitest";
import { ApiError, type Problem } from "@/api/client";
import { countRefusals, gatherRefusals, nothingRefused, sortRefusal } from "./refusal";

const shown = { steps: ["web", "api"], inputs: ["web"] };

const refuse = (more: Partial<Problem>) =>
  new ApiError(422, {
    type: "about:blank",
    title: "Refused",
    status: 422,
    code: "x",
    request_id: "r1",
    ...more,
  });

describe("a refused create", () => {
  it("goes to its field, with the remedy", () => {
    const refusal = sortRefusal(
      refuse({ field: "name", detail: "Taken.", remedy: "Choose another." }),
      shown,
    );
    expect(refusal.fields.name).toBe("Taken. Choose another.");
    expect(countRefusals(refusal)).toBe(1);
  });

  it.each(["versions.web", "versions/web", "body.versions.web", "/versions/web"])(
    "knows %s as a service",
    (field) =>
      expect(sortRefusal(refuse({ field, detail: "Gone." }), shown).fields).toEqual({
        "versions.web": "Gone.",
      }),
  );

  it("knows a field of the input, though a service has its name", () => {
    const refusal = sortRefusal(
      refuse({
        problems: [
          { field: "input.web", code: "a", message: "Too long." },
          { field: "versions.web", code: "b", message: "Gone." },
        ],
      }),
      shown,
    );
    expect(refusal.fields["input.web"]).toBe("Too long.");
    expect(countRefusals(refusal)).toBe(2);
  });

  it("takes every problem of a list", () => {
    const refusal = sortRefusal(
      refuse({
        problems: [
          { field: "versions.api", code: "a", message: "No such tag." },
          { field: "elsewhere", code: "b", message: "Something else." },
        ],
      }),
      shown,
    );
    expect(refusal.fields["versions.api"]).toBe("No such tag.");
    expect(refusal.rest).toEqual(["Something else."]);
  });

  it("keeps the table of nodes and the request id", () => {
    const refusal = sortRefusal(
      refuse({ detail: "No room.", placement: [{ node: "fra-01", reason: "1 GB short" }] }),
      shown,
    );
    expect(refusal.placement).toHaveLength(1);
    expect(refusal.rest).toEqual(["No room."]);
    expect(refusal.request).toBe("r1");
  });

  it("says so when nobody answered", () =>
    expect(sortRefusal(new TypeError("fetch"), shown).rest).toHaveLength(1));

  it("says of a step without a row that there is something, in the list", () => {
    const refusal = sortRefusal(refuse({ field: "versions.worker", detail: "Gone." }), shown);
    expect([refusal.fields, refusal.rest]).toEqual([{}, ["Gone."]]);
  });
});

describe("all that stands in the way", () => {
  const taken = { id: "name", state: "failed", code: "taken", field: "name" } as const;
  const full = { id: "capacity", state: "failed", code: "no_room", message: "No room." } as const;
  const failed = [{ ...taken, message: "Taken.", remedy: "Choose another." }, full];

  it("stands at its field before anything was tried, and in the list only without one", () => {
    const { refusal, open } = gatherRefusals(undefined, null, failed, shown);
    expect(refusal.fields).toEqual({ name: "Taken. Choose another." });
    expect(open).toEqual([full]);
  });

  it("is not said by the checks again once the API has refused it", () => {
    const error = refuse({ code: "no_room", detail: "No room." });
    const { refusal, open } = gatherRefusals(undefined, error, failed, shown);
    expect([refusal.rest, open]).toEqual([["No room."], []]);
  });

  it("is what the form says itself, where that knows better", () => {
    const local = { ...nothingRefused, fields: { name: "Too long." } } as const;
    const { refusal } = gatherRefusals(local, null, failed, shown);
    expect(refusal.fields.name).toBe("Too long.");
  });
});
