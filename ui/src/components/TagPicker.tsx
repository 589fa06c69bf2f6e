import { Popover } from "@base-ui/react/popover";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { ChevronDown } from "lucide-react";
import { useDeferredValue, useEffect, useId, useMemo, useState } from "react";
import { tags } from "@/api/queries/deployments";
import { tagTexts } from "@/components/tagTexts";
import { ListFind } from "./ListFind";
import { MiddleTruncate } from "./MiddleTruncate";
import { TagError, TagFooter } from "./TagFooter";
import { TagList } from "./TagList";
import { useDebounced } from "./useDebounced";

const t = tagTexts;

type Order = "newest" | "version";

type Props = {
  service: string;
  step: string;
  value: string;
  invalid?: boolean;
  /** What it begins with is not known yet. */
  reading?: boolean;
  onChange: (tag: string) => void;
};

/** Chooses a tag of a service. The server searches; the list holds any number of them. */
export function TagPicker({ service, step, value, invalid, reading, onChange }: Props) {
  const [open, setOpen] = useState(false);
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger
        className={`in ${invalid ? "err" : ""}`}
        aria-label={`${t.label(step)}: ${value || (reading ? t.loading : t.choose)}`}
        data-step={step}
        onKeyDown={(event) => {
          if (event.key !== "ArrowDown") return;
          event.preventDefault();
          setOpen(true);
        }}
      >
        {value ? (
          <MiddleTruncate text={value} className="grow" />
        ) : reading ? (
          <span className="grow">
            <span className="skeleton w-1/2" />
          </span>
        ) : (
          <span className="grow tr t3">{t.choose}</span>
        )}
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
  const search = useDeferredValue(useDebounced(text, 150));
  const [order, setOrder] = useState<Order>("newest");
  const [active, setActive] = useState(0);
  const id = useId();
  const query = useInfiniteQuery({
    ...tags(service, search, order),
    placeholderData: keepPreviousData,
  });
  const items = useMemo(() => query.data?.pages.flatMap((page) => page.items) ?? [], [query.data]);
  const last = query.data?.pages[query.data.pages.length - 1];
  const next = () => void query.fetchNextPage();
  // What is shown may still be the answer to what was typed before.
  const answered = text === search && !query.isPlaceholderData && !query.isPending;
  const take = useTake(answered, () => items[active] && choose(items[active].tag));
  return (
    <>
      <div className="ph">
        <ListFind
          id={id}
          label={t.search}
          value={text}
          onType={(typed) => {
            setText(typed);
            take.drop();
          }}
          active={active}
          count={items.length}
          setActive={setActive}
          take={take.ask}
        />
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
      <TagList
        id={id}
        busy={!answered}
        label={t.list(step, order === "newest" ? t.newestFirst : t.versionFirst)}
        items={items}
        search={search}
        value={value}
        active={active}
        setActive={setActive}
        choose={choose}
        more={query.hasNextPage && !query.isFetching && !query.isError ? next : undefined}
      />
      {query.isError ? (
        <TagError
          what={query.isFetchNextPageError ? t.restUnread : t.unread}
          error={query.error}
          retry={query.isFetchNextPageError ? next : () => void query.refetch()}
        />
      ) : items.length === 0 ? (
        <p className="t2 px-3 py-4" role="status">
          {!answered ? t.loading : search ? t.noMatch(search) : t.none}
        </p>
      ) : null}
      {last ? (
        <TagFooter list={last} refresh={() => void query.refetch()} busy={query.isFetching} />
      ) : null}
    </>
  );
}

/** Acts on Enter once the list is the answer to what was typed: asked for before, it waits for that. */
function useTake(answered: boolean, act: () => void) {
  const [asked, setAsked] = useState(false);
  useEffect(() => {
    if (!asked || !answered) return;
    setAsked(false);
    act();
  }, [asked, answered]);
  return { ask: () => setAsked(true), drop: () => setAsked(false) };
}
