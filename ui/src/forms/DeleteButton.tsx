import { type ReactNode, useState } from "react";
import { Button } from "@/components/Button";
import { formTexts as t } from "@/forms/formTexts";
import { ConfirmDelete } from "./ConfirmDelete";

type Props = {
  name: string;
  reason?: string;
  remove: () => Promise<unknown>;
  done: () => void;
  children: ReactNode;
};

/** The Delete button in a sheet's footer, with its confirmation. */
export function DeleteButton({ name, reason, remove, done, children }: Props) {
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Button act={t.removeOf(name)} look="danger" reason={reason} onClick={() => setAsking(true)}>
        {t.remove}
      </Button>
      {asking ? (
        <ConfirmDelete name={name} remove={remove} done={done} close={() => setAsking(false)}>
          {children}
        </ConfirmDelete>
      ) : null}
    </>
  );
}
