import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { serviceTexts as t } from "@/catalogTexts";
import { describe, Skeletons } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { Time } from "@/components/Time";

type Tried = { registry: string; image: string; tag_mode: string; tag: string; pattern: string };

/** What the registry has of an image, judged by a pattern that is only being typed. */
export function Matches({ registry, image, tag_mode, tag, pattern }: Tried) {
  const pinned = tag_mode === "pinned";
  const asked = useSettled(
    JSON.stringify([
      registry,
      image.trim(),
      pinned ? "" : pattern.trim(),
      pinned ? tag.trim() : "",
    ]),
  );
  const [from, repository, by, search] = JSON.parse(asked) as [string, string, string, string];
  const query = useQuery({
    queryKey: ["registry-test", asked],
    queryFn: () =>
      ask(
        client.POST("/api/v1/registries/{name}/test", {
          params: { path: { name: from } },
          body: {
            image: repository,
            pattern: by || undefined,
            search: search || undefined,
            order: "newest",
            limit: 30,
          },
        }),
      ),
    enabled: from !== "" && repository !== "",
    placeholderData: keepPreviousData,
    retry: false,
  });
  return (
    <section className="col gap-3" aria-live="polite" aria-busy={query.isFetching}>
      <h2>{t.matches}</h2>
      {from === "" || repository === "" ? <p className="t2">{t.matchesNeed}</p> : null}
      {query.isLoading ? <Skeletons count={6} height={28} /> : null}
      {query.error ? <StatusMark state="failed">{describe(query.error).message}</StatusMark> : null}
      {query.data ? <Found found={query.data} tag={pinned ? tag.trim() : ""} /> : null}
    </section>
  );
}

function Found({ found, tag }: { found: Schemas["RegistryTested"]; tag: string }) {
  if (!found.ok)
    return (
      <div className="box" data-st="failed">
        <div className="col gap-1">
          <StatusMark state="failed">{found.detail}</StatusMark>
          <span className="t2">{found.remedy}</span>
        </div>
      </div>
    );
  if (tag) return <Pinned found={found} tag={tag} />;
  const items = found.items ?? [];
  const more = (found.matching ?? 0) - items.length;
  return (
    <>
      <b>{t.matchesOf(found.matching ?? 0, found.total ?? 0)}</b>
      {found.stale ? <StatusMark state="warn">{t.stale}</StatusMark> : null}
      {items.length === 0 && (found.total ?? 0) > 0 ? (
        <StatusMark state="warn">{t.matchesNone}</StatusMark>
      ) : null}
      <ul className="tags">
        {items.map((one) => (
          <li key={one.tag}>
            <span className="mono tr" title={one.tag}>
              {one.tag}
            </span>
            {one.created_at ? <Time at={one.created_at} short className="t2 s" /> : null}
          </li>
        ))}
      </ul>
      {more > 0 ? <span className="t2 s">{t.matchesMore(more)}</span> : null}
    </>
  );
}

function Pinned({ found, tag }: { found: Schemas["RegistryTested"]; tag: string }) {
  const there = found.items?.some((one) => one.tag === tag);
  return (
    <>
      <StatusMark state={there ? "done" : "warn"}>
        {there ? t.pinnedThere(tag) : t.pinnedMissing(tag)}
      </StatusMark>
      <span className="t2">{t.matchesPinned}</span>
    </>
  );
}

/** A value that has not changed for a moment, so that typing asks the registry once. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), 300);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
