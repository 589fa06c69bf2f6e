import type { ReactNode } from "react";
import { Button } from "@/components/Button";
import { Sheet } from "@/components/Overlay";
import { texts } from "@/texts";

/** A sheet that shows something once, such as a new token. */
export function OneTimeSheet({
  title,
  close,
  children,
}: {
  title: string;
  close: () => void;
  children: ReactNode;
}) {
  const foot = (
    <div className="row end">
      <Button look="ink" onClick={close}>
        {texts.close}
      </Button>
    </div>
  );
  return (
    <Sheet open narrow title={title} onClose={close} foot={foot}>
      <div className="form grow">{children}</div>
    </Sheet>
  );
}
