import { useInfiniteQuery } from "@tanstack/react-query";
import type { Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { Sheet } from "@/components/Overlay";
import { EmptyState, ErrorState, Skeletons } from "@/components/States";
import type { VersionsProps } from "@/editor/compare/versionsProps";
import { versionTexts } from "@/editor/compare/versionTexts";
import { docOf } from "../model/document";
import { versions } from "../session/draftApi";
import { Compare } from "./Compare";
import { VersionEntry } from "./VersionEntry";

const t = versionTexts;

/** Every version that was published: what it changed, who runs it, and the way back to it. */
export function Versions(props: VersionsProps) {
  const { project, compare, onCompare, onClose, drawing } = props;
  const query = useInfiniteQuery(versions(project));
  const items = query.data?.pages.flatMap((page) => page.items);
  return (
    <Sheet open onClose={onClose} title={t.title(project)}>
      <div className="form">
        {query.isError ? (
          <ErrorState what={t.unread} error={query.error} retry={() => void query.refetch()} />
        ) : null}
        {query.isPending ? <Skeletons count={5} height={48} /> : null}
        {items?.length === 0 ? <EmptyState title={t.none}>{t.noneYet}</EmptyState> : null}
        {items?.[0] && compare ? (
          <Compare
            project={project}
            newest={items[0].version}
            compare={compare}
            onCompare={onCompare}
            drawing={drawing}
          />
        ) : null}
        {items && !compare ? (
          <>
            <Entries {...props} items={items} more={query.hasNextPage} />
            {query.hasNextPage ? (
              <Button
                busy={query.isFetchingNextPage && t.moreBusy}
                onClick={() => void query.fetchNextPage()}
              >
                {t.more}
              </Button>
            ) : null}
          </>
        ) : null}
      </div>
    </Sheet>
  );
}

type EntriesProps = VersionsProps & { items: Schemas["PipelineVersion"][]; more: boolean };

function Entries({ items, more, project, onCompare, drawing }: EntriesProps) {
  const [newest] = items;
  // The last loaded version is shown once its predecessor, with which it is compared, is loaded.
  const shown = more ? items.slice(0, -1) : items;
  return shown.map((one, i) => (
    <VersionEntry
      key={one.version}
      project={project}
      version={one}
      before={items[i + 1]}
      current={one === newest}
      onCompare={
        // With the draft, if there is one; the current version is compared with nothing else.
        one === newest && !drawing?.differs
          ? undefined
          : () =>
              onCompare({
                from: one.version,
                to: drawing?.differs ? "draft" : (newest?.version ?? one.version),
              })
      }
      onRestored={drawing?.onRestored}
      onOpen={drawing && (() => drawing.onOpen(docOf(one.pipeline)))}
    />
  ));
}
