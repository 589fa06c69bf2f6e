import { useState } from "react";
import { ApiError } from "@/api/client";
import { Button } from "@/components/Button";
import { useToast } from "@/components/Toast";
import { galleryTexts as t } from "@/galleryTexts";
import { ConfirmDelete } from "../admin/Confirm";
import { TextField } from "../admin/Fields";
import { FormSheet } from "../admin/FormSheet";
import { useForm } from "../admin/useForm";
import Palette from "../shell/Palette";
import Shortcuts from "../shell/Shortcuts";

const refusal = (status: number, more: object) =>
  new ApiError(status, {
    type: "about:blank",
    title: t.wrong,
    status,
    code: "changed",
    request_id: "01937c1e-8a40",
    ...more,
  });

/** What lies over a page; each is opened by its button. */
export function Over() {
  const [shown, setShown] = useState<"sheet" | "conflict" | "ask" | "used" | "palette" | "keys">();
  const say = useToast();
  const close = () => setShown(undefined);
  const refused = shown === "used";
  return (
    <div className="row flex-wrap p-4">
      <Button onClick={() => setShown("sheet")}>{t.open}</Button>
      <Button onClick={() => setShown("conflict")}>{t.conflict}</Button>
      <Button onClick={() => setShown("ask")}>{t.ask}</Button>
      <Button onClick={() => setShown("used")}>{t.inUse}</Button>
      <Button onClick={() => setShown("palette")}>{t.palette}</Button>
      <Button onClick={() => setShown("keys")}>{t.keys}</Button>
      <Button onClick={() => say("done", t.value)}>{t.say}</Button>
      <Button onClick={() => say("failed", t.wrong)}>{t.fail}</Button>
      {shown === "sheet" ? <Example status={400} more={{ field: "name" }} close={close} /> : null}
      {shown === "conflict" ? <Example status={412} more={{}} close={close} /> : null}
      {shown === "palette" ? <Palette close={close} shortcuts={() => setShown("keys")} /> : null}
      {shown === "keys" ? <Shortcuts close={close} /> : null}
      {shown === "ask" || refused ? (
        <ConfirmDelete
          name={t.value}
          close={close}
          done={close}
          remove={() =>
            refused
              ? Promise.reject(refusal(409, { users: ["project shop", "project billing"] }))
              : Promise.resolve()
          }
        >
          <p>{t.noticeMore}</p>
        </ConfirmDelete>
      ) : null}
    </div>
  );
}

type ExampleProps = { status: number; more: object; close: () => void };

function Example({ status, more, close }: ExampleProps) {
  const form = useForm(
    { name: t.value },
    {
      opened: { value: t.value, tag: "1", again: async () => ({ value: t.theirs, tag: "2" }) },
      valuesOf: (name) => ({ name }),
      save: () => Promise.reject(refusal(status, more)),
      saved: close,
    },
  );
  return (
    <FormSheet title={t.open} form={form} onClose={close}>
      <TextField form={form} name="name" label={t.field} hint={t.hint} mono />
    </FormSheet>
  );
}
