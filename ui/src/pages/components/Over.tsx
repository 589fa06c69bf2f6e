import { useEffect, useState } from "react";
import { ApiError } from "@/api/client";
import { Button } from "@/components/Button";
import { useToast } from "@/components/Toast";
import { ConfirmDelete } from "@/forms/ConfirmDelete";
import { DeleteButton } from "@/forms/DeleteButton";
import { TextField } from "@/forms/Fields";
import { FormSheet } from "@/forms/FormSheet";
import { useForm } from "@/forms/useForm";
import { galleryTexts as t } from "@/pages/components/galleryTexts";
import { Questions } from "../deployment/Questions";
import type { Act } from "../deployment/useAct";
import Palette from "../shell/Palette";
import Shortcuts from "../shell/Shortcuts";
import { deployment } from "./examples";

const refusal = (status: number, more: object) =>
  new ApiError(status, {
    type: "about:blank",
    title: t.wrong,
    status,
    code: "changed",
    request_id: "01937c1e-8a40",
    ...more,
  });

const overlays = [
  ["sheet", t.open],
  ["conflict", t.conflict],
  ["nested", t.nested],
  ["ask", t.ask],
  ["used", t.inUse],
  ["forget", t.forget],
  ["palette", t.palette],
  ["keys", t.keys],
] as const;
type Overlay = (typeof overlays)[number][0];

/** What lies over a page; each is opened by its button. */
export function Over() {
  const [shown, show] = useState<Overlay>();
  return (
    <div className="row flex-wrap p-4">
      {overlays.map(([one, label]) => (
        <Button key={one} onClick={() => show(one)}>
          {label}
        </Button>
      ))}
      <Results />
      {shown ? <Shown which={shown} show={show} /> : null}
    </div>
  );
}

/** What is said of an act: a result, one with a way back, a failure that stays. */
function Results() {
  const say = useToast();
  const then = { label: t.undone, run: () => say("done", t.value) };
  return (
    <>
      <Button onClick={() => say("done", t.value)}>{t.say}</Button>
      <Button onClick={() => say("done", t.value, then)}>{t.undo}</Button>
      <Button onClick={() => say("failed", t.wrong)}>{t.fail}</Button>
    </>
  );
}

function Shown({ which, show }: { which: Overlay; show: (next?: Overlay) => void }) {
  const close = () => show(undefined);
  switch (which) {
    case "sheet":
      return <Example status={400} more={{ field: "name" }} close={close} />;
    case "conflict":
      return <Example status={412} more={{}} close={close} />;
    case "nested":
      return <Example status={400} more={{}} close={close} changed />;
    case "palette":
      return <Palette close={close} shortcuts={() => show("keys")} />;
    case "keys":
      return <Shortcuts close={close} />;
    case "forget":
      return <Forget close={close} />;
    default:
      return <Ask used={which === "used"} close={close} />;
  }
}

function Ask({ used, close }: { used: boolean; close: () => void }) {
  const users = ["project shop", "project billing"];
  const remove = () => (used ? Promise.reject(refusal(409, { users })) : Promise.resolve());
  return (
    <ConfirmDelete name={t.value} close={close} done={close} remove={remove}>
      <p>{t.noticeMore}</p>
    </ConfirmDelete>
  );
}

/** The one question that wants a name typed: it leaves something behind. */
function Forget({ close }: { close: () => void }) {
  const act = { isPending: false, mutate: close } as unknown as Act;
  const stuck = deployment("stuck", { node: "fra-02" });
  return <Questions deployment={stuck} steps={[]} asking="forget" close={close} act={act} />;
}

type ExampleProps = { status: number; more: object; close: () => void; changed?: boolean };

function Example({ status, more, close, changed }: ExampleProps) {
  const form = useForm(
    { name: t.value },
    {
      opened: { value: t.value, tag: "1", again: async () => ({ value: t.theirs, tag: "2" }) },
      valuesOf: (name) => ({ name }),
      save: () => Promise.reject(refusal(status, more)),
      saved: close,
    },
  );
  useEffect(() => {
    if (changed) form.set({ name: t.theirs });
  }, [changed]);
  const remove = (
    <DeleteButton name={t.value} remove={async () => {}} done={close}>
      <p>{t.noticeMore}</p>
    </DeleteButton>
  );
  return (
    <FormSheet title={t.open} form={form} onClose={close} extra={remove}>
      <TextField form={form} name="name" label={t.field} hint={t.hint} mono />
    </FormSheet>
  );
}
