import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { ask, client, type Schemas } from "@/api/client";
import { serviceTexts as t } from "@/catalogTexts";
import { describe, Skeletons } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { Time } from "@/components/Time";
import { useSettled } from "@/components/useSettled";

type Tried = { registry: string; image: string; tag_mode: string; tag: string; pattern: string };

/** What the registry has of an image, judged by a pattern that is only being typed. */
export function Matches({ registry, image, tag_mode, tag, pattern }: Tried) {
  const pinned = tag_mode === "pinned" ? tag.trim() : "";
  const by = tag_mode === "pinned" ? pinned : pattern.trim();
  const settled = useSettled(JSON.stringify([registry, image.trim(), by, pinned]), 300);
  const [from, repository, asked, wanted] = JSON.parse(settled) as [string, string, string, string];
  const may = from !== "" && repository !== "";
  const query = useQuery({
    queryKey: ["registry-test", settled],
    queryFn: async () => ({ found: await test(from, repository, asked), tag: wanted }),
    enabled: may,
    placeholderData: keepPreviousData,
    retry: false,
  });
  return (
    <section className="col gap-3" aria-live="polite" aria-busy={query.isFetching}>
      <h2>{t.matches}</h2>
      {may ? null : <p className="t2">{t.matchesNeed}</p>}
      {query.isLoading ? <Skeletons count={6} height={28} /> : null}
      {query.error ? <StatusMark state="failed">{describe(query.error).message}</StatusMark> : null}
      {may && query.data ? <Found {...query.data} /> : null}
    </section>
  );
}

/** The tags that a pattern lets through. A tag is a pattern too, which only it matches. */
const test = (name: string, image: string, pattern: string) =>
  ask(
    client.POST("/api/v1/registries/{name}/test", {
      params: { path: { name } },
      body: { image, pattern: pattern || undefined, order: "newest", limit: 30 },
    }),
  );

type FoundProps = { found: Schemas["RegistryTested"]; tag: string };

/** What the registry said; `tag` is the pinned one it was asked about, if any. */
function Found({ found, tag }: FoundProps) {
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

function Pinned({ found, tag }: FoundProps) {
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
