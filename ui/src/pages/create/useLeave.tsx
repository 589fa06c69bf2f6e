import { useState } from "react";
import { Button } from "@/components/Button";
import { Confirm } from "@/components/Overlay";
import { useLeaveGuard } from "@/forms/useLeaveGuard";
import { deployTexts } from "@/pages/deployTexts";

const t = deployTexts.leave;

type Asked = { dirty: boolean; busy: boolean; leave: () => void };

/** Closing that asks first when something would be lost, by the browser's Back too. */
export function useLeave({ dirty, busy, leave }: Asked) {
  const [open, setOpen] = useState(false);
  const stay = () => {
    // Whether it was made is not known yet, and a refusal has to be seen.
    if (busy) return true;
    if (dirty) setOpen(true);
    return dirty;
  };
  useLeaveGuard(stay);
  const close = () => {
    if (!stay()) leave();
  };
  const question = <Question open={open} stay={() => setOpen(false)} leave={leave} />;
  return { close, question };
}

type Props = { open: boolean; stay: () => void; leave: () => void };

function Question({ open, stay, leave }: Props) {
  const acts = (
    <>
      <Button onClick={stay}>{t.stay}</Button>
      <Button look="danger" onClick={leave}>
        {t.leave}
      </Button>
    </>
  );
  return (
    <Confirm open={open} onClose={stay} title={t.title} acts={acts}>
      <p>{t.body}</p>
    </Confirm>
  );
}
