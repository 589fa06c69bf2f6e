import { useVirtualizer } from "@tanstack/react-virtual";
import { Check } from "lucide-react";
import { useEffect, useRef } from "react";
import type { Schemas } from "@/api/client";
import { tagTexts } from "@/components/tagTexts";
import { plainText } from "./ansi";
import { BidiSafe } from "./BidiSafe";
import { shortCommit } from "./commit";
import { MiddleTruncate } from "./MiddleTruncate";
import { formatBytes } from "./quantity";
import { useNarrow } from "./Shell";
import { useNow } from "./Time";
import { formatExact, formatShortAgo } from "./time";
import { useLoadMore } from "./useLoadMore";

const t = tagTexts;

type Tag = Schemas["Tag"];

type TagsProps = {
  id: string;
  label: string;
  items: Tag[];
  search: string;
  /** The list is not the answer to what was typed yet. */
  busy?: boolean;
  value: string;
  active: number;
  setActive: (at: number) => void;
  choose: (tag: string) => void;
  /** Reads the next page; nothing when there is none, or one is on its way. */
  more?: () => void;
};

/** A virtualized list of tags. */
export function TagList(props: TagsProps) {
  const { id, label, items, search, busy, value, active, setActive, choose, more } = props;
  const box = useRef<HTMLDivElement>(null);
  const now = useNow(10);
  const height = useNarrow(720) ? 44 : 31;
  const virtual = useVirtualizer({
    count: items.length,
    getScrollElement: () => box.current,
    estimateSize: () => height,
    overscan: 8,
    initialRect: { width: 480, height: 320 },
  });
  const seen = virtual.getVirtualItems();
  useLoadMore(seen[seen.length - 1]?.index ?? -1, items.length, more);
  useEffect(() => {
    if (items.length > 0) virtual.scrollToIndex(active);
  }, [active]);
  const known = items.some((tag) => tag.branch || tag.commit);
  return (
    <div data-plain={!known || undefined}>
      {items.length > 0 ? <Heads /> : null}
      <div className="pl" ref={box}>
        <div
          id={`${id}-list`}
          role="listbox"
          aria-label={label}
          aria-busy={busy}
          tabIndex={-1}
          className="relative"
          style={{ height: virtual.getTotalSize() }}
        >
          {seen.map(({ index, start }) => {
            const tag = items[index] as Tag;
            return (
              // biome-ignore lint/a11y/useKeyWithClickEvents: keys are handled by the field that owns the list
              <div
                key={tag.tag}
                id={`${id}-${index}`}
                role="option"
                tabIndex={-1}
                aria-selected={tag.tag === value}
                aria-setsize={items.length}
                aria-posinset={index + 1}
                className="pt"
                data-active={index === active || undefined}
                title={tag.tag}
                style={{ transform: `translateY(${start}px)` }}
                onPointerMove={() => index !== active && setActive(index)}
                onClick={() => choose(tag.tag)}
              >
                {tag.tag === value ? <Check className="i sm" aria-hidden="true" /> : <span />}
                <MiddleTruncate text={tag.tag} search={search} titled />
                <Origin tag={tag} now={now} />
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

/** What the columns are; each option says all of it by itself. */
const Heads = () => (
  <div className="pt pth" aria-hidden="true">
    <span />
    <span>{t.columns.tag}</span>
    <span className="from">{t.columns.branch}</span>
    <span className="from">{t.columns.commit}</span>
    <span className="text-right">{t.columns.built}</span>
  </div>
);

/** Where a tag came from, in columns, as far as the registry tells. */
function Origin({ tag, now }: { tag: Tag; now: number }) {
  const { branch, commit, created_at: made, size, builder } = tag;
  const whole = [
    [branch, commit].filter(Boolean).join(" @ "),
    made ? formatExact(made) : "",
    size ? formatBytes(size) : "",
    builder,
  ];
  const title = plainText(whole.filter(Boolean).join(" · "));
  return (
    <>
      <span className="from t2 s tr" title={title}>
        <BidiSafe text={branch ?? ""} />
      </span>
      <span className="from t2 s mono tr" title={title}>
        <BidiSafe text={commit ? shortCommit(commit) : ""} />
      </span>
      <span className="t2 s nw text-right" title={title}>
        {made ? formatShortAgo(made, now) : ""}
      </span>
    </>
  );
}
