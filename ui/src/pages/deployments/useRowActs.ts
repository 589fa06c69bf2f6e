import { useSuspenseQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useState } from "react";
import type { Deployment } from "@/api/client";
import { me } from "@/api/queries/common";
import { markLack } from "@/components/lack";
import { useToast } from "@/components/Toast";
import { deployTexts } from "@/pages/deployTexts";
import { texts } from "@/texts";
import { fromList } from "../create/search";
import { usePermissionReasonOn, useReasonNotToCreate } from "../shell/usePermissionReason";
import type { Filters } from "./filters";
import { whyNotInRow } from "./rowWhyNot";
import { type Kind, nameOf, useBulk } from "./useBulk";

const t = deployTexts.rows;

type Options = {
  filters: Filters;
  /** Called after an act, with those of them that were refused. */
  done: (refused: Deployment[]) => void;
};

/** What can be done with rows of the list, by keys and by menus. There is at least one. */
export function useRowActs(on: Deployment[], { filters, done }: Options) {
  const first = on[0] as Deployment;
  const [removing, setRemoving] = useState<Deployment[]>();
  const bulk = useBulk((refused) => {
    setRemoving(undefined);
    done(refused);
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
  return {
    clone: useClone(first, filters),
    all: (["retry", "extend", "remove"] as const).map((kind) => ({
      kind,
      label: t[kind](on.length > 1 ? t.chosen(on.length) : nameOf(on)),
      // Of several, those that can be are done, and it is said what the others lack.
      reason: on.every((one) => why(kind, one)) ? why(kind, first) : undefined,
      run: () => run(kind),
    })),
    run,
    removing: Boolean(removing),
    question: {
      on: removing,
      busy: bulk.isPending,
      keep: () => setRemoving(undefined),
      remove: (all: Deployment[]) => bulk.mutate({ kind: "remove", on: all }),
    },
  };
}

/** Of the first one the API explains what is missing; of the others it is said without names. */
function useWhyNot(first: Deployment) {
  const { data: person } = useSuspenseQuery(me);
  const lack = usePermissionReasonOn(first);
  return (kind: Kind, one: Deployment) => {
    if (one === first && lack) return lack;
    if (one.level !== "full") return markLack(texts.lack.full(one.project));
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
