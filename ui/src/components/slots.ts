import { useRef } from "react";

/**
 * Assigns each visible key a slot, which is the React key of its element. When all visible keys are
 * new they reuse the previous slots, since updating elements costs half of creating them. While
 * some keys stay, reuse would only reorder elements. The slot of `kept`, which has the focus, is
 * never reused.
 */
export function takeSlots(
  before: ReadonlyMap<string, number>,
  keys: readonly string[],
  kept?: string,
): Map<string, number> {
  const stays = keys.some((key) => before.has(key));
  const free = stays ? [] : [...before].flatMap(([key, slot]) => (key === kept ? [] : [slot]));
  let next = Math.max(-1, ...before.values()) + 1;
  return new Map(keys.map((key) => [key, before.get(key) ?? free.shift() ?? next++]));
}

/** `takeSlots` across renders. */
export function useSlots(keys: readonly string[], kept?: string): Map<string, number> {
  const slots = useRef(new Map<string, number>());
  slots.current = takeSlots(slots.current, keys, kept);
  return slots.current;
}
