import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useEffect, useId, useRef, useState } from "react";
import type { Deployment } from "@/api/client";
import { ENDED_STATES, hasEnded } from "@/api/deploymentState";
import { deployments, records } from "@/api/queries/deployments";
import { ListFind } from "@/components/ListFind";
import { describeError } from "@/components/States";
import { stateWord } from "@/components/Status";
import { useNow } from "@/components/Time";
import { formatAgo } from "@/components/time";
import { useDebounced } from "@/components/useDebounced";
import { diffTexts } from "@/pages/diff/diffTexts";
import { texts } from "@/texts";
import { findDeployments, MOST, nameOf } from "./findDeployments";

const t = diffTexts;

type Props = { chosen?: string; pick: (id: string) => void };

/** A search over all deployments, what runs before the records of what was. */
export function DeploymentChoices({ chosen, pick }: Props) {
  const id = useId();
  const [text, type] = useState("");
  const [active, setActive] = useState(0);
  const { all, error, busy } = useFound(text);
  const shown = all.slice(0, MOST);
  return (
    <>
      <div className="ph">
        <ListFind
          id={id}
          label={t.find}
          value={text}
          onType={type}
          active={active}
          count={shown.length}
          setActive={setActive}
          take={() => shown[active] && pick(shown[active].id)}
        />
      </div>
      <Options id={id} shown={shown} active={active} chosen={chosen} pick={pick} />
      <p className="pf s t2" role="status">
        {error
          ? `${t.listUnread} ${describeError(error).message}`
          : busy
            ? t.reading
            : countText(all)}
      </p>
    </>
  );
}

const countText = (all: Deployment[]) =>
  all.length > MOST ? t.cut(MOST, all.length) : t.found(all.length);

/** What is there is in the cache as a whole; records are searched by the server, a page of them. */
function useFound(text: string) {
  const settled = useDebounced(text.trim(), 150);
  const live = useQuery(deployments);
  // The API takes no longer search.
  const search = settled.slice(0, 128) || undefined;
  const past = useInfiniteQuery(records({ search, status: ENDED_STATES }));
  const kept = past.data?.pages.flatMap((page) => page.items) ?? [];
  return {
    all: [...findDeployments(live.data ?? [], text), ...kept],
    error: live.error ?? past.error,
    busy: live.isPending || past.isPending || text.trim() !== settled,
  };
}

type OptionsProps = {
  id: string;
  shown: Deployment[];
  active: number;
  chosen?: string;
  pick: (id: string) => void;
};

function Options({ id, shown, active, chosen, pick }: OptionsProps) {
  const list = useRef<HTMLDivElement>(null);
  const now = useNow(60);
  useEffect(() => {
    list.current?.querySelector("[data-highlighted]")?.scrollIntoView({ block: "nearest" });
  }, [active]);
  return (
    <div
      className="pl p-1"
      role="listbox"
      id={`${id}-list`}
      aria-label={texts.list.title}
      ref={list}
    >
      {shown.map((one, at) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the focus and its keys
        <div
          key={one.id}
          id={`${id}-${at}`}
          role="option"
          tabIndex={-1}
          className="mi hover:bg-hover"
          aria-selected={one.id === chosen}
          data-highlighted={at === active || undefined}
          onClick={() => pick(one.id)}
        >
          <span className="tr">{nameOf(one)}</span>
          <span className="t3 tr">{one.project}</span>
          <span className="end nw">
            {hasEnded(one.status)
              ? t.record(stateWord(one.status), formatAgo(one.changed_at, now))
              : ""}
          </span>
        </div>
      ))}
    </div>
  );
}
