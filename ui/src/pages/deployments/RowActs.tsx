import { useSuspenseQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useState } from "react";
import type { Deployment } from "@/api/client";
import { me } from "@/api/queries/common";
import { Button } from "@/components/Button";
import { usePageAction } from "@/components/pageActions";
import { useKeys } from "@/components/Shell";
import { useToast } from "@/components/Toast";
import { deployTexts } from "@/pages/deployTexts";
import { texts } from "@/texts";
import { fromList } from "../create/search";
import { usePermissionReasonOn, useReasonNotToCreate } from "../shell/usePermissionReason";
import type { Filters } from "./filters";
import { RemoveQuestion } from "./RemoveQuestion";
import { whyNotInRow } from "./rowWhyNot";
import { type Kind, nameOf, useBulk } from "./useBulk";

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
  const first = on[0] as Deployment;
  const [removing, setRemoving] = useState<Deployment[]>();
  const bulk = useBulk((refused) => {
    setRemoving(undefined);
    keep(refused);
  });
  const say = useToast();
  const why = useWhyNot(first);
  const run = (kind: Kind) => {
    const able = on.filter((one) => !why(kind, one));
    const reason = on.map((one) => why(kind, one)).find(Boolean);
    if (reason)
      say("failed", able.length > 0 ? t.skipped(on.length - able.length, reason) : reason);
    if (able.length === 0 || bulk.isPending) return;
    if (kind === "remove") setRemoving(able);
    else bulk.mutate({ kind, on: able });
  };
  const clone = useClone(first, filters);
  useKeys({
    c: clone.run,
    e: () => run("extend"),
    r: () => run("retry"),
    Delete: () => run("remove"),
  });
  const acts = (["retry", "extend", "remove"] as const).map((kind) => ({
    kind,
    label: t[kind](nameOf(on)),
    reason: on.length === 1 ? why(kind, first) : undefined,
    run: () => run(kind),
  }));
  usePageAction({ label: t.clone(first.name), ...clone });
  usePageAction(acts[0]);
  usePageAction(acts[1]);
  usePageAction(acts[2]);
  return (
    <>
      {marked ? (
        <div className="marks">
          <b role="status">{t.marked(on.length)}</b>
          {acts.map(({ kind, reason, run: act }) => (
            <Button key={kind} small reason={reason} onClick={act}>
              {t.short[kind]} <kbd>{t.keys[kind]}</kbd>
            </Button>
          ))}
          <Button small look="ghost" onClick={clear}>
            {t.unmark} <kbd>Esc</kbd>
          </Button>
        </div>
      ) : null}
      <RemoveQuestion
        on={removing}
        busy={bulk.isPending}
        keep={() => setRemoving(undefined)}
        remove={(all) => bulk.mutate({ kind: "remove", on: all })}
      />
    </>
  );
}

/** Of the first one the API explains what is missing; of the others it is said without names. */
function useWhyNot(first: Deployment) {
  const { data: person } = useSuspenseQuery(me);
  const lack = usePermissionReasonOn(first);
  return (kind: Kind, one: Deployment) => {
    if (one === first && lack) return lack;
    if (one.level !== "full") return texts.lack.full(one.project);
    return whyNotInRow(kind, one, person);
  };
}

function useClone({ id }: Deployment, filters: Filters) {
  const router = useRouter();
  const say = useToast();
  const reason = useReasonNotToCreate();
  const search = { from: id, list: fromList(filters).list };
  const run = () => {
    if (reason) say("failed", reason);
    else void router.navigate({ to: "/deployments/new", search });
  };
  return { reason, run };
}
