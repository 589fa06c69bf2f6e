import type { UseMutationResult } from "@tanstack/react-query";
import { Button } from "@/components/Button";
import { Refusal } from "@/components/Field";
import { Confirm } from "@/components/Overlay";
import { describeError } from "@/components/States";
import { texts } from "@/texts";

type Props = {
  title: string;
  body: string;
  /** The word on the button and the one while it works. */
  label: string;
  busy: string;
  look?: "ink" | "danger";
  act: UseMutationResult<unknown, Error, void>;
  close: () => void;
};

/** A question whose refusal is read where it was asked. */
export function ConfirmAct({ title, body, label, busy, look = "danger", act, close }: Props) {
  const keep = () => {
    if (!act.isPending) close();
  };
  const acts = (
    <>
      <Button onClick={keep}>{texts.keep}</Button>
      <Button look={look} busy={act.isPending && busy} onClick={() => act.mutate()}>
        {label}
      </Button>
    </>
  );
  return (
    <Confirm open onClose={keep} title={title} acts={acts}>
      <p>{body}</p>
      {act.error ? <Refusal>{describeError(act.error).message}</Refusal> : null}
    </Confirm>
  );
}
