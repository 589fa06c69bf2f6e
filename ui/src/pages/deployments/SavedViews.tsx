import { Plus, X } from "lucide-react";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import type { Deployment } from "@/api/client";
import { Button } from "@/components/Button";
import { loadChunk } from "@/components/loadChunk";
import { usePageAction } from "@/components/pageActions";
import { useToast } from "@/components/Toast";
import { texts } from "@/texts";
import { type Filters, isNarrowed } from "./filters";
import { ViewCount } from "./ViewCount";
import { ViewTab } from "./ViewTab";
import { MOST, type useViews, type View } from "./views";

const t = texts.list;

const ViewNaming = lazy(() =>
  loadChunk(() => import("./ViewNaming")).then((one) => ({ default: one.ViewNaming })),
);

type Props = {
  saved: ReturnType<typeof useViews>;
  /** The one that shows just what is shown now. */
  here?: View;
  read?: Deployment[];
  filters: Filters;
  user: string;
};

/** The user's saved views after the built-in tabs, and a button to save the current one. */
export function SavedViews({ saved, here, read, filters, user }: Props) {
  const { views, full, save, drop } = saved;
  const [naming, setNaming] = useState(false);
  const focus = useFocusBack([views, naming]);
  const able = isNarrowed(filters) && !here && !naming;
  const reason = full ? t.viewsFull(MOST) : undefined;
  const say = useToast();
  const dropHere = (view: View) => {
    focus.next("[aria-current]");
    drop(view.name);
    const back = { label: t.undo, run: () => save(view.name, view.filters) };
    say("done", t.viewDropped(view.name), back);
  };
  usePageAction(able ? { label: t.saveView, reason, run: () => setNaming(true) } : undefined);
  usePageAction(here ? { label: t.dropView(here.name), run: () => dropHere(here) } : undefined);
  return (
    <>
      <span ref={focus.here} hidden />
      {views.map((one) => (
        <span key={one.name} className="row gap-0">
          <ViewTab filters={one.filters} current={one === here}>
            {one.name} <ViewCount read={read} filters={one.filters} user={user} />
          </ViewTab>
          {one === here ? (
            <button
              type="button"
              className="btn ghost sm ic"
              aria-label={t.dropView(one.name)}
              title={t.dropView(one.name)}
              onClick={() => dropHere(one)}
            >
              <X className="i sm" aria-hidden="true" />
            </button>
          ) : null}
        </span>
      ))}
      {able ? (
        <Button
          look="ghost"
          small
          icon
          reason={reason}
          data-save
          aria-label={t.saveView}
          title={t.saveView}
          onClick={() => setNaming(true)}
        >
          <Plus className="i sm" aria-hidden="true" />
        </Button>
      ) : null}
      {naming ? (
        <Suspense>
          <ViewNaming
            close={() => setNaming(false)}
            back={() => {
              focus.next("[data-save]");
              setNaming(false);
            }}
            save={(name) => {
              focus.next("[aria-current]");
              save(name, filters);
              setNaming(false);
            }}
          />
        </Suspense>
      ) : null}
    </>
  );
}

/** What had the focus is gone after an act: what then stands for it gets it. */
function useFocusBack(after: unknown[]) {
  const here = useRef<HTMLSpanElement>(null);
  const wanted = useRef<string>(undefined);
  useEffect(() => {
    const found = wanted.current && here.current?.closest("nav")?.querySelector(wanted.current);
    if (found instanceof HTMLElement) found.focus();
    wanted.current = undefined;
  }, after);
  const next = (selector: string) => {
    wanted.current = selector;
  };
  return { here, next };
}
