import { ArrowRightLeft, ListChecks } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import type { Deployment } from "@/api/client";
import { Button } from "@/components/Button";
import { loadChunk } from "@/components/loadChunk";
import { deployTexts } from "@/pages/deployTexts";
import type { Act } from "./whyNot";

const Move = lazy(() => loadChunk(() => import("./Move")));
const Check = lazy(() => loadChunk(() => import("./ResourceCheck")));

type Props = { deployment: Deployment; why: (act: Act) => string | undefined };

/** What only a ready deployment is asked: to go to another node, and whether all it made is there. */
export function ReadyActs({ deployment, why }: Props) {
  const [asking, setAsking] = useState<"move" | "check">();
  if (deployment.status !== "ready") return null;
  const close = () => setAsking(undefined);
  const { move, check } = deployTexts;
  return (
    <>
      <Button
        look="ghost"
        icon
        act={move.act}
        aria-label={move.act}
        title={move.act}
        reason={why("move")}
        onClick={() => setAsking("move")}
      >
        <ArrowRightLeft className="i sm" aria-hidden="true" />
      </Button>
      <Button
        look="ghost"
        icon
        act={check.act}
        aria-label={check.act}
        title={check.act}
        reason={why("check")}
        onClick={() => setAsking("check")}
      >
        <ListChecks className="i sm" aria-hidden="true" />
      </Button>
      <Suspense fallback={null}>
        {asking === "move" ? <Move deployment={deployment} close={close} /> : null}
        {asking === "check" ? <Check deployment={deployment} close={close} /> : null}
      </Suspense>
    </>
  );
}
