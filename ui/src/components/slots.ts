import { useRef } from "react";

/**
 * Gives each key in sight a slot, which is the React key of what is drawn for it. When all in sight
 * are new, they take over the slots of those before: to fill elements anew costs half of making
 * them. While some stay it would only move elements about. The slot of `kept`, which has the focus,
 * goes to nobody else.
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

/** `takeSlots` from one drawing to the next. */
export function useSlots(keys: readonly string[], kept?: string): Map<string, number> {
  const slots = useRef(new Map<string, number>());
  slots.current = takeSlots(slots.current, keys, kept);
  return slots.current;
}
