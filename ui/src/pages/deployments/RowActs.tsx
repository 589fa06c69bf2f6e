import type { Deployment } from "@/api/client";
import { Button } from "@/components/Button";
import { usePageAction } from "@/components/pageActions";
import { useKeys } from "@/components/Shell";
import { deployTexts } from "@/pages/deployTexts";
import type { Filters } from "./filters";
import { RemoveQuestion } from "./RemoveQuestion";
import { useRowActs } from "./useRowActs";

const t = deployTexts.rows;

type Props = {
  /** What the keys act on: the marked rows, or the one that is selected. Never empty. */
  on: Deployment[];
  /** Whether they were marked: then a bar says how many, and has the acts. */
  marked: boolean;
  clear: () => void;
  /** Of the marked rows, only these stay marked. */
  keep: (rows: Deployment[]) => void;
  filters: Filters;
};

/** What the keys do with the selected row or the marked ones; loaded with the first of them. */
export default function RowActs({ on, marked, clear, keep, filters }: Props) {
  const { clone, all, run, question } = useRowActs(on, { filters, done: keep });
  useKeys({
    c: clone.run,
    e: () => run("extend"),
    r: () => run("retry"),
    Delete: () => run("remove"),
  });
  usePageAction({ label: t.clone((on[0] as Deployment).name), ...clone });
  usePageAction(all[0]);
  usePageAction(all[1]);
  usePageAction(all[2]);
  return (
    <>
      {marked ? (
        <div className="marks">
          <b role="status">{t.marked(on.length)}</b>
          {all.map(({ kind, reason, run: act }) => (
            <Button key={kind} small reason={reason} onClick={act}>
              {t.short[kind]} <kbd>{t.keys[kind]}</kbd>
            </Button>
          ))}
          <Button small look="ghost" onClick={clear}>
            {t.unmark} <kbd>Esc</kbd>
          </Button>
        </div>
      ) : null}
      <RemoveQuestion {...question} />
    </>
  );
}
