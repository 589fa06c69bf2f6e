import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { formatBody, outcomeText } from "./Deliveries";
import { Events, toggleEvent } from "./Events";
import { nameOptions } from "./ScopeFields";
import { bodyOf, findProblems, initialValues } from "./values";

afterEach(cleanup);

it("keeps events in the order they are shown", () => {
  expect(toggleEvent(["node.online"], "deployment.ready", true)).toEqual([
    "deployment.ready",
    "node.online",
  ]);
  expect(toggleEvent(["deployment.ready", "node.online"], "node.online", false)).toEqual([
    "deployment.ready",
  ]);
});

it("gives an event by its words", async () => {
  const set = vi.fn();
  render(<Events chosen={["deployment.ready"]} set={set} error="Choose one." />);
  await userEvent.click(screen.getByRole("checkbox", { name: "Deployment failed" }));
  expect(set).toHaveBeenCalledWith(["deployment.ready", "deployment.failed"]);
  expect(screen.getByRole("alert").textContent).toBe("Choose one.");
});

it("sends a key only with JSON, a sentence only to a chat, and no empty address", () => {
  const values = { ...initialValues(), secret: "k".repeat(16), template: "{deployment}", url: " " };
  expect(bodyOf(values)).toMatchObject({ secret: "k".repeat(16), url: undefined });
  expect(bodyOf(values).template).toBeUndefined();
  expect(bodyOf({ ...values, kind: "slack" })).toMatchObject({
    secret: undefined,
    template: "{deployment}",
  });
});

it("needs an address only when it is new", () => {
  expect(Object.keys(findProblems(initialValues(), false, []))).toEqual(["name", "url", "events"]);
  const changed = { ...initialValues(), name: "ci", events: ["node.online" as const] };
  expect(findProblems(changed, true, ["ci"])).toEqual({});
  expect(findProblems({ ...changed, secret: "short" }, true, [])).toHaveProperty("secret");
});

it("says what came of a delivery, and lays JSON out", () => {
  const sent = { id: "1", event: "x", status: "failed", attempts: 1, body: "", created_at: "" };
  expect(outcomeText({ ...sent, status: "sent", answer: 204 })).toBe("answered 204");
  expect(outcomeText({ ...sent, status: "failed", error: "refused" })).toBe("refused");
  expect(outcomeText({ ...sent, status: "failed" })).toBe("no answer");
  expect(formatBody('{"a":1}')).toBe('{\n  "a": 1\n}');
  expect(formatBody("plain")).toBe("plain");
});

it("keeps a chosen name among the choices when it is gone", () => {
  expect(nameOptions([{ name: "b" }], "a").map((one) => one.value)).toEqual(["a", "b"]);
});
