import { Popover } from "@base-ui/react/popover";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { Check, ChevronDown, Search } from "lucide-react";
import {
  type KeyboardEvent,
  useDeferredValue,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from "react";
import type { Schemas } from "@/api/client";
import { tags } from "@/api/queries/deployments";
import { texts } from "@/texts";
import { Button } from "./Button";
import { around, middle } from "./names";
import { describe } from "./States";
import { useNow } from "./Time";
import { bytes, shortAgo } from "./time";

const t = texts.tags;

type Tag = Schemas["Tag"];
type TagList = Schemas["TagList"];
type Order = "newest" | "version";

type Props = {
  service: string;
  step: string;
  value: string;
  invalid?: boolean;
  onChange: (tag: string) => void;
};

/** Chooses a tag of a service. The server searches; the list holds any number of them. */
export function TagPicker({ service, step, value, invalid, onChange }: Props) {
  const [open, setOpen] = useState(false);
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger
        className={`in ${invalid ? "err" : ""}`}
        aria-label={`${t.label(step)}: ${value || texts.create.choose}`}
        data-step={step}
        onKeyDown={(event) => {
          if (event.key !== "ArrowDown") return;
          event.preventDefault();
          setOpen(true);
        }}
      >
        <span className={`grow tr ${value ? "mono" : "t3"}`} title={value}>
          {value ? middle(value, 34) : texts.create.choose}
        </span>
        <ChevronDown className="i sm t3" aria-hidden="true" />
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner className="over" sideOffset={6} align="start">
          <Popover.Popup className="picker" aria-label={t.label(step)}>
            <Picker
              service={service}
              step={step}
              value={value}
              choose={(tag) => {
                onChange(tag);
                setOpen(false);
              }}
            />
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  );
}

type PickerProps = { service: string; step: string; value: string; choose: (tag: string) => void };

function Picker({ service, step, value, choose }: PickerProps) {
  const [text, setText] = useState("");
  const search = useDeferredValue(useSettled(text, 150));
  const [order, setOrder] = useState<Order>("newest");
  const [active, setActive] = useState(0);
  const id = useId();
  const query = useInfiniteQuery({
    ...tags(service, search, order),
    placeholderData: keepPreviousData,
  });
  const items = useMemo(() => query.data?.pages.flatMap((page) => page.items) ?? [], [query.data]);
  const last = query.data?.pages[query.data.pages.length - 1];
  const move = (to: number) => {
    const next = Math.max(0, Math.min(items.length - 1, to));
    setActive(next);
    if (next > items.length - 30 && query.hasNextPage && !query.isFetchingNextPage)
      void query.fetchNextPage();
  };
  const press = (event: KeyboardEvent) => {
    const keys: Record<string, () => void> = {
      ArrowDown: () => move(active + 1),
      ArrowUp: () => move(active - 1),
      PageDown: () => move(active + 8),
      PageUp: () => move(active - 8),
      Enter: () => items[active] && choose(items[active].tag),
    };
    const run = keys[event.key];
    if (!run) return;
    event.preventDefault();
    event.stopPropagation();
    run();
  };
  return (
    <>
      <div className="ph">
        <div className="in sm">
          <Search className="i sm t3" aria-hidden="true" />
          <input
            role="combobox"
            aria-expanded="true"
            aria-controls={`${id}-list`}
            aria-activedescendant={items[active] ? `${id}-${active}` : undefined}
            aria-label={t.search}
            placeholder={t.search}
            autoComplete="off"
            spellCheck={false}
            value={text}
            onChange={(event) => {
              setText(event.target.value);
              setActive(0);
            }}
            onKeyDown={press}
          />
        </div>
        <fieldset className="seg" aria-label={t.order}>
          {(["newest", "version"] as const).map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={order === one}
              onClick={() => setOrder(one)}
            >
              {t[one]}
            </button>
          ))}
        </fieldset>
      </div>
      <Tags
        id={id}
        label={t.list(step, order === "newest" ? t.newestFirst : t.versionFirst)}
        items={items}
        search={search}
        value={value}
        active={active}
        setActive={move}
        choose={choose}
      />
      {items.length === 0 ? (
        <p className="t2 px-3 py-4" role="status">
          {query.isPending
            ? t.loading
            : query.isError
              ? `${t.unread} ${describe(query.error).message}`
              : search
                ? t.noMatch(search)
                : t.none}
        </p>
      ) : null}
      {last ? (
        <Foot list={last} refresh={() => void query.refetch()} busy={query.isFetching} />
      ) : null}
    </>
  );
}

type TagsProps = {
  id: string;
  label: string;
  items: Tag[];
  search: string;
  value: string;
  active: number;
  setActive: (at: number) => void;
  choose: (tag: string) => void;
};

function Tags({ id, label, items, search, value, active, setActive, choose }: TagsProps) {
  const box = useRef<HTMLDivElement>(null);
  const now = useNow(10);
  const virtual = useVirtualizer({
    count: items.length,
    getScrollElement: () => box.current,
    estimateSize: () => 31,
    overscan: 8,
    initialRect: { width: 480, height: 320 },
  });
  useEffect(() => {
    if (items.length > 0) virtual.scrollToIndex(active);
  }, [active]);
  return (
    <div className="pl" ref={box}>
      <div
        id={`${id}-list`}
        role="listbox"
        aria-label={label}
        tabIndex={-1}
        className="relative"
        style={{ height: virtual.getTotalSize() }}
      >
        {virtual.getVirtualItems().map(({ index, start }) => {
          const tag = items[index] as Tag;
          const shown = middle(tag.tag, 44);
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
              <span className="mono tr">
                {around(shown, search).map((part, i) =>
                  i % 2 === 1 ? <mark key={i}>{part}</mark> : part,
                )}
              </span>
              <Origin tag={tag} now={now} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** Where a tag came from, as far as the registry tells. */
function Origin({ tag, now }: { tag: Tag; now: number }) {
  const said = [
    [tag.branch, tag.commit?.slice(0, 7)].filter(Boolean).join(" @ "),
    tag.created_at ? shortAgo(tag.created_at, now) : "",
    tag.size ? bytes(tag.size) : "",
  ].filter(Boolean);
  const whole = [...said, tag.builder].filter(Boolean).join(" · ");
  return (
    <span className="t2 s tr text-right" title={whole}>
      {said.join(" · ")}
    </span>
  );
}

function Foot({ list, refresh, busy }: { list: TagList; refresh: () => void; busy: boolean }) {
  const now = useNow();
  const age = list.read_at ? shortAgo(list.read_at, now) : "";
  const said = list.stale
    ? t.stale(list.stale_reason ?? t.staleReason, age)
    : age === "now" || !age
      ? t.fresh
      : t.age(age);
  return (
    <div className="pf s t2">
      <span>
        {t.count(list.matching, list.total)}
        {list.pattern ? (
          <>
            {" "}
            {t.match} <span className="mono">{list.pattern}</span>
          </>
        ) : null}
      </span>
      <span className="end" role="status">
        {said}
      </span>
      <Button small look="ghost" busy={busy && "…"} onClick={refresh}>
        {t.refresh}
      </Button>
    </div>
  );
}

/** A value once it has not changed for a while, in ms. */
function useSettled(value: string, wait: number): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), wait);
    return () => clearTimeout(timer);
  }, [value, wait]);
  return settled;
}
