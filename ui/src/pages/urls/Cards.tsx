import "./urls.css";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type RefObject, useCallback, useLayoutEffect, useRef, useState } from "react";
import type { Deployment } from "@/api/client";
import { Card } from "./Card";
import { columnsIn, GAP, PADDING } from "./columns";

/** The cards in sight, in rows as high as their highest card. */
export function Cards({ shown }: { shown: Deployment[] }) {
  const list = useRef<HTMLUListElement>(null);
  const width = useWidth(list);
  const columns = columnsIn(width);
  const virtual = useVirtualizer({
    count: Math.ceil(shown.length / columns),
    getScrollElement: () => list.current?.closest<HTMLElement>(".body") ?? null,
    getItemKey: useCallback((row: number) => `${columns} ${row}`, [columns]),
    estimateSize: () => 164,
    gap: GAP,
    paddingStart: PADDING,
    paddingEnd: PADDING,
    overscan: 3,
    // jsdom and a hidden page have no size; some cards are drawn all the same.
    initialRect: { width: 1200, height: 900 },
  });
  useLayoutEffect(() => measureRows(list.current, virtual.resizeItem));
  const seen = virtual.getVirtualItems();
  const from = (seen[0]?.index ?? 0) * columns;
  const to = ((seen[seen.length - 1]?.index ?? -1) + 1) * columns;
  return (
    <ul
      ref={list}
      className="urls"
      style={{
        gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))`,
        paddingTop: seen[0]?.start ?? 0,
        paddingBottom: virtual.getTotalSize() - (seen[seen.length - 1]?.end ?? 0),
      }}
    >
      {shown.slice(from, to).map((one, i) => (
        <Card
          key={one.id}
          deployment={one}
          row={i % columns === 0 ? (from + i) / columns : undefined}
          at={from + i + 1}
          of={shown.length}
        />
      ))}
    </ul>
  );
}

/** The cards of a row are of one height, so its first is measured for all. */
function measureRows(list: HTMLElement | null, tell: (row: number, height: number) => void) {
  for (const card of list?.querySelectorAll<HTMLElement>("[data-row]") ?? [])
    if (card.offsetHeight > 0) tell(Number(card.dataset.row), card.offsetHeight);
}

/** How wide an element is, kept up to date. */
function useWidth(of: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const measure = () => setWidth(of.current?.clientWidth ?? 0);
    measure();
    window.addEventListener("resize", measure);
    return () => window.removeEventListener("resize", measure);
  }, [of]);
  return width;
}
