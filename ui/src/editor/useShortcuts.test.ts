// @vitest-environment jsdom
import { afterEach, expect, it } from "vitest";
import { setKeysOff } from "@/components/Shell";
import { actOf } from "./useShortcuts";

/** What a key does with the focus on an element of the page. */
function press(where: string, key: string, more: KeyboardEventInit = {}) {
  document.body.innerHTML = `<div class="cv"><div class="react-flow__node"><textarea></textarea></div></div>
    <aside class="insp"><button>x</button><input /></aside><i role="tab"></i>
    <div class="steplist"><button>y</button></div>`;
  const target = where === "body" ? document.body : document.querySelector(where);
  let act: string | undefined;
  const hear = (event: KeyboardEvent) => {
    act = actOf(event);
  };
  window.addEventListener("keydown", hear);
  target?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, ...more }));
  window.removeEventListener("keydown", hear);
  return act;
}

afterEach(() => setKeysOff(false));

it("acts on what is chosen wherever the focus is, but never while somebody types", () => {
  expect(press(".react-flow__node", "Delete")).toBe("remove");
  expect(press("aside button", "Delete")).toBe("remove");
  expect(press("aside button", "ArrowLeft")).toBe("move");
  expect(press("body", "ArrowDown")).toBe("move");
  expect(press("aside input", "Delete")).toBeUndefined();
  expect(press("aside input", "ArrowLeft")).toBeUndefined();
  expect(press("[role=tab]", "ArrowRight")).toBeUndefined();
  expect(press(".steplist button", "ArrowDown")).toBeUndefined();
  expect(press("body", "Backspace")).toBe("remove");
  expect(press("aside button", "Backspace")).toBeUndefined();
  expect(press("aside input", "Backspace")).toBeUndefined();
  expect(press(".cv textarea", "Backspace")).toBeUndefined();
});

it("takes single keys nowhere once they are switched off", () => {
  expect(press("body", "a")).toBe("find");
  expect(press("body", "F", { shiftKey: true })).toBe("tidy");
  setKeysOff(true);
  expect(press("body", "a")).toBeUndefined();
  expect(press(".react-flow__node", "p")).toBeUndefined();
  expect(press("body", "Delete")).toBeUndefined();
  expect(press("body", "ArrowUp")).toBeUndefined();
  expect(press(".react-flow__node", "Delete")).toBe("remove");
  expect(press("body", "s", { ctrlKey: true })).toBe("save");
});

it("leads from step to step, and back from the inspector, from a field too", () => {
  expect([press("body", "j"), press(".react-flow__node", "k")]).toEqual(["next", "previous"]);
  expect(press("aside input", "j")).toBeUndefined();
  expect([press("aside input", "Escape"), press("aside button", "Escape")]).toEqual([
    "back",
    "back",
  ]);
  expect(press(".react-flow__node", "Escape")).toBe("escape");
  expect(press(".cv textarea", "Escape")).toBeUndefined();
});
