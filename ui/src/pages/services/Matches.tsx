import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import { ask, client, type Schemas } from "@/api/client";
import { Skeletons } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { Time } from "@/components/Time";
import { useDebounced } from "@/components/useDebounced";
import { UnreadSource } from "@/forms/UnreadSource";
import { serviceTexts as t } from "@/pages/catalogTexts";

type Tried = { registry: string; image: string; tag_mode: string; tag: string; pattern: string };

/** What the registry has of an image, judged by a pattern that is only being typed. */
export function Matches({ registry, image, tag_mode, tag, pattern }: Tried) {
  const typed = [registry, image.trim(), pattern.trim(), tag.trim(), tag_mode];
  const settled = useDebounced(JSON.stringify(typed), 300);
  const [from = "", repository = "", by = "", wanted = "", mode] = JSON.parse(settled) as string[];
  const pinned = mode === "pinned";
  const may = from !== "" && repository !== "";
  const query = useQuery(
    pinned ? matchQuery(from, repository, wanted, wanted) : matchQuery(from, repository, by, ""),
  );
  return (
    <section className="col gap-3" aria-live="polite" aria-busy={query.isFetching}>
      <h2>{t.matches}</h2>
      {may ? null : <p className="t2">{t.matchesNeed}</p>}
      {query.isLoading ? <Skeletons count={6} height={28} /> : null}
      <UnreadSource what={t.matchesUnread} of={query} />
      {may && !pinned && wanted ? <Default of={[from, repository, wanted]} /> : null}
      {may && query.data ? <Found {...query.data} /> : null}
    </section>
  );
}

/** What the registry says, with the tag it was asked about, since an older answer stays for a while. */
const matchQuery = (from: string, repository: string, pattern: string, tag: string) =>
  queryOptions({
    queryKey: ["registry-test", from, repository, pattern, tag],
    queryFn: async () => ({ found: await testPattern(from, repository, pattern), tag }),
    enabled: from !== "" && repository !== "",
    placeholderData: keepPreviousData,
    retry: false,
  });

/** Whether the tag that is chosen at first can be deployed: one that is not there fails each create. */
function Default({ of: [from, repository, wanted] }: { of: [string, string, string] }) {
  const query = useQuery(matchQuery(from, repository, wanted, wanted));
  if (query.error) return <UnreadSource what={t.defaultUnread(wanted)} of={query} />;
  // What the registry itself lacks or refuses is said once, with the tags.
  if (!query.data?.found.ok) return null;
  const { found, tag } = query.data;
  const there = isThere(found, tag);
  return (
    <>
      <StatusMark state={there ? "done" : "warn"}>
        {there ? t.defaultThere(tag) : t.defaultMissing(tag)}
      </StatusMark>
      {there ? null : <span className="t2">{t.defaultFails}</span>}
    </>
  );
}

const isThere = (found: Schemas["RegistryTested"], tag: string) =>
  found.items?.some((one) => one.tag === tag) ?? false;

/** The tags that a pattern lets through. A tag is a pattern too, which only it matches. */
const testPattern = (name: string, image: string, pattern: string) =>
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
  const there = isThere(found, tag);
  return (
    <>
      <StatusMark state={there ? "done" : "warn"}>
        {there ? t.pinnedThere(tag) : t.pinnedMissing(tag)}
      </StatusMark>
      <span className="t2">{t.matchesPinned}</span>
    </>
  );
}
