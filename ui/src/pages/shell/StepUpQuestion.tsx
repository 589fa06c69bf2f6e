import { lazy, Suspense, useEffect, useState } from "react";
import { onStepUp } from "@/api/client";
import { loadChunk } from "@/components/loadChunk";

const StepUp = lazy(() => loadChunk(() => import("./StepUp")));

/** The question who one is, while a request waits for it. Each page behind sign-in has it once. */
export function StepUpQuestion() {
  const [proof, setProof] = useState<(proved: boolean) => void>();
  useEffect(() => {
    onStepUp(
      () =>
        new Promise((resolve) =>
          setProof(() => (proved: boolean) => {
            setProof(undefined);
            resolve(proved);
          }),
        ),
    );
    return () => onStepUp(undefined);
  }, []);
  return <Suspense fallback={null}>{proof ? <StepUp done={proof} /> : null}</Suspense>;
}
