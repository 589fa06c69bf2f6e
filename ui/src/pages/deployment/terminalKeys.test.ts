import { expect, it } from "vitest";
import { keyFor } from "./terminalKeys";

const press = (key: string, more: Partial<KeyboardEvent> = {}) =>
  ({ type: "keydown", key, ctrlKey: false, shiftKey: false, ...more }) as KeyboardEvent;

it("a shell has every key but the one that leaves it", () => {
  for (const one of [
    press("Tab"),
    press("Escape"),
    press("k", { ctrlKey: true }),
    press("x", { ctrlKey: true }),
    press("X", { shiftKey: true }),
  ])
    expect(keyFor(one, false)).toBe("shell");
  expect(keyFor(press("X", { ctrlKey: true, shiftKey: true }), false)).toBe("leave");
});

it("a command that has ended holds Tab no more", () => {
  expect(keyFor(press("Tab"), true)).toBe("page");
  expect(keyFor(press("Tab", { shiftKey: true }), true)).toBe("page");
});
