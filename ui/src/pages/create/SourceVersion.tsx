import type { Schemas } from "@/api/client";
import { deployTexts } from "@/pages/deployTexts";

const t = deployTexts.clone;

type Props = {
  was?: Schemas["CloneService"];
  now?: string;
  /** Where there is a choice. */
  choose?: (tag: string) => void;
};

/** In a clone: what the source runs, and the way to it or past it. */
export function SourceVersion({ was, now, choose }: Props) {
  if (!was?.source_tag) return null;
  const same = now === was.source_tag;
  const moved = same && was.source_moved;
  // What is newest of all is of another branch as a rule: nobody who clones asks for that.
  const newest = was.branch ? was.newest_of_branch : was.newest_tag;
  const other = same ? newest : was.source_tag;
  const offered = choose && other !== now ? other : undefined;
  // What stays as it is needs no words: the row shows it.
  if (same && !moved && !offered) return null;
  return (
    <div className="was s t2">
      {same ? null : (
        <span>
          {t.from} <span className="mono">{was.source_tag}</span> →{" "}
          <span className="mono">{now}</span>
        </span>
      )}
      {moved ? <span>{t.moved}</span> : null}
      {offered ? (
        <button type="button" className="link" onClick={() => choose?.(offered)}>
          {offered === was.source_tag ? t.keep(offered) : t.newest(offered, was.branch)}
        </button>
      ) : null}
    </div>
  );
}
