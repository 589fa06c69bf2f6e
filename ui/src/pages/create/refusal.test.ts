import { describe, expect, it } from "vitest";
import { ApiError, type Problem } from "@/api/client";
import { countRefusals, sortRefusal } from "./refusal";

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
    );
    expect(refusal.name).toBe("Taken. Choose another.");
    expect(countRefusals(refusal)).toBe(1);
  });

  it.each(["versions.web", "versions/web", "body.versions.web", "/versions/web"])(
    "knows %s as a service",
    (field) =>
      expect(sortRefusal(refuse({ field, detail: "Gone." })).versions).toEqual({ web: "Gone." }),
  );

  it("knows a field of the input, though a service has its name", () => {
    const refusal = sortRefusal(
      refuse({
        problems: [
          { field: "input.web", code: "a", message: "Too long." },
          { field: "versions.web", code: "b", message: "Gone." },
        ],
      }),
    );
    expect(refusal.input).toEqual({ web: "Too long." });
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
    );
    expect(refusal.versions.api).toBe("No such tag.");
    expect(refusal.rest).toEqual(["Something else."]);
  });

  it("keeps the table of nodes and the request id", () => {
    const refusal = sortRefusal(
      refuse({ detail: "No room.", placement: [{ node: "fra-01", reason: "1 GB short" }] }),
    );
    expect(refusal.placement).toHaveLength(1);
    expect(refusal.rest).toEqual(["No room."]);
    expect(refusal.request).toBe("r1");
  });

  it("says so when nobody answered", () =>
    expect(sortRefusal(new TypeError("fetch")).rest).toHaveLength(1));
});
