import { type ReactNode, useEffect, useRef } from "react";
import { Button } from "@/components/Button";
import { describeError } from "@/components/States";
import { StatusMark } from "@/components/Status";

type Props = {
  test: { isPending: boolean; error: unknown; mutate: () => void };
  texts: { test: string; testing: string; testFirst: string };
  /** What was typed is not stored yet: only what is stored is tried. */
  dirty: boolean;
  /** Begins the sentence of a try that never reached our server. */
  unasked: string;
  children: ReactNode;
};

/** Tests the stored object and shows the result below. */
export function TestStored({ test, texts, dirty, unasked, children }: Props) {
  const box = useRef<HTMLDivElement>(null);
  // The result stands at the end of a sheet, where its bar would hide it.
  useEffect(() => {
    if (!test.isPending) box.current?.lastElementChild?.scrollIntoView?.({ block: "nearest" });
  }, [test.isPending]);
  return (
    <div className="col gap-2" role="status" ref={box}>
      <span>
        <Button
          act={texts.test}
          reason={dirty ? texts.testFirst : undefined}
          busy={test.isPending && texts.testing}
          onClick={() => test.mutate()}
        >
          {texts.test}
        </Button>
      </span>
      {children}
      {test.error ? (
        <StatusMark state="failed">
          {unasked} {describeError(test.error).message}
        </StatusMark>
      ) : null}
    </div>
  );
}
