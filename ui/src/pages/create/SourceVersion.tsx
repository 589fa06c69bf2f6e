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
  // Of what is pinned nothing is to be said that the row does not show.
  if (!choose && same && !moved) return null;
  // What is newest of all is of another branch as a rule: nobody who clones asks for that.
  const newest = was.branch ? was.newest_of_branch : was.newest_tag;
  const other = same ? newest : was.source_tag;
  return (
    <div className="was s t2">
      <span>
        {t.from} <span className="mono">{was.source_tag}</span> →{" "}
        <span className="mono">{now}</span>
      </span>
      {moved ? <span>{t.moved}</span> : null}
      {choose && other && other !== now ? (
        <button type="button" className="link" onClick={() => choose(other)}>
          {other === was.source_tag ? t.keep(other) : t.newest(other, was.branch)}
        </button>
      ) : null}
    </div>
  );
}
