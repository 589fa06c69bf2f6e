import { KeyRound } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { Button } from "@/components/Button";
import { loadChunk } from "@/components/loadChunk";
import { secretTexts as t } from "@/forms/secretTexts";

const SetSecret = lazy(() => loadChunk(() => import("./SetSecret")));

type Props = { project: string; name: string; onSet?: () => void };

/** Sets a secret that a project lacks, where that is said. */
export function SetSecretAct({ project, name, onSet }: Props) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button small onClick={() => setOpen(true)}>
        <KeyRound className="i sm" aria-hidden="true" /> {t.set(name)}
      </Button>
      {open ? (
        <Suspense>
          <SetSecret {...{ project, name, onSet }} onClose={() => setOpen(false)} />
        </Suspense>
      ) : null}
    </>
  );
}
