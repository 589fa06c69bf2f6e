import { useMutation } from "@tanstack/react-query";
import { useEffect } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { StatusMark } from "@/components/Status";
import type { Opened } from "@/forms/conflict";
import { DeleteButton } from "@/forms/DeleteButton";
import { ifMatch, type Tagged } from "@/forms/etag";
import { CheckField, TextArea, TextField } from "@/forms/Fields";
import { FormSheet } from "@/forms/FormSheet";
import { formTexts } from "@/forms/formTexts";
import { emptyToUndefined, onlyProblems } from "@/forms/formValues";
import { NameField, nameProblem } from "@/forms/NameField";
import { TestStored } from "@/forms/TestStored";
import { useForm } from "@/forms/useForm";
import { useRefresh, useSaved } from "@/forms/useSaved";
import { registryTexts as t } from "@/pages/catalogTexts";
import { useReasonNotAdmin } from "../shell/usePermissionReason";

type Registry = Schemas["Registry"];
type Props = {
  opened?: Opened<Registry>;
  taken: string[];
  used: string;
  /** It was made just now: whether it answers is what one wants to know of it. */
  fresh?: boolean;
  made?: (name: string) => void;
  close: () => void;
};

const start = (stored?: Registry) => ({
  name: stored?.name ?? "",
  host: stored?.host ?? "",
  insecure: stored?.insecure ?? false,
  username: stored?.username ?? "",
  password: "",
  ca: stored?.ca ?? "",
  description: stored?.description ?? "",
});
type Values = ReturnType<typeof start>;

const save = (values: Values, over?: Tagged<Registry>) =>
  ask(
    client.PUT("/api/v1/registries/{name}", {
      params: { path: { name: values.name } },
      headers: ifMatch(over?.tag),
      body: {
        host: values.host.trim(),
        insecure: values.insecure,
        username: emptyToUndefined(values.username),
        // Absent keeps the stored one.
        password: values.password || undefined,
        ca: emptyToUndefined(values.ca),
        description: emptyToUndefined(values.description),
      },
    }),
  );

/** Adds or changes one registry; what is stored can be tested. */
export function RegistrySheet({ opened, taken, used, fresh, made, close }: Props) {
  const stored = opened?.value;
  const reason = useReasonNotAdmin();
  const saved = useSaved(["registries"], () => (made ? made(form.values.name) : close()));
  const form = useForm(start(stored), {
    check: (values) =>
      onlyProblems({
        name: stored ? undefined : nameProblem(values.name, taken),
        host: values.host.trim() ? undefined : t.hostMissing,
      }),
    opened,
    valuesOf: start,
    save,
    saved: (answer, values) => saved(values.name, answer),
  });
  const moved = stored?.has_password && form.values.host.trim() !== stored.host;
  return (
    <FormSheet
      title={stored ? stored.name : t.addTitle}
      form={form}
      onClose={close}
      submit={stored ? undefined : formTexts.create}
      busy={stored ? undefined : formTexts.creating}
      locked={reason}
      extra={stored && !reason ? <Delete stored={stored} used={used} close={close} /> : null}
    >
      {stored ? null : <NameField form={form} taken={taken} />}
      <TextField
        form={form}
        name="host"
        label={t.host}
        mono
        placeholder="ghcr.io"
        hint={moved ? t.hostChanged : t.hostHint}
      />
      <CheckField form={form} name="insecure" label={t.insecure} hint={t.insecureHint} />
      <TextField form={form} name="username" label={t.username} optional />
      <TextField
        form={form}
        name="password"
        type="password"
        label={t.password}
        optional
        hint={stored?.has_password && !moved ? t.passwordKept : t.passwordHint}
      />
      <TextArea form={form} name="ca" label={t.ca} mono optional hint={t.caHint} />
      <TextField form={form} name="description" label={t.description} optional maxLength={500} />
      {stored && !reason ? <Test name={stored.name} dirty={form.dirty} now={fresh} /> : null}
    </FormSheet>
  );
}

/** Asks the registry with what is stored, and shows what it said. */
function Test({ name, dirty, now }: { name: string; dirty: boolean; now?: boolean }) {
  const test = useMutation({
    mutationFn: () =>
      ask(
        client.POST("/api/v1/registries/{name}/test", {
          params: { path: { name } },
          body: { order: "version", limit: 1 },
        }),
      ),
  });
  const { mutate } = test;
  useEffect(() => {
    if (now) mutate();
  }, [now, mutate]);
  return (
    <TestStored test={test} texts={t} dirty={dirty} unasked={t.notAsked}>
      {test.data ? <Tested tested={test.data} /> : null}
    </TestStored>
  );
}

function Tested({ tested }: { tested: Schemas["RegistryTested"] }) {
  if (tested.ok) return <StatusMark state="done">{t.answered(tested.took_ms)}</StatusMark>;
  return (
    <div className="box" data-st="failed">
      <div className="col gap-1">
        <StatusMark state="failed">{tested.detail}</StatusMark>
        <span className="t2">{tested.remedy}</span>
      </div>
    </div>
  );
}

function Delete({ stored, used, close }: { stored: Registry; used: string; close: () => void }) {
  const refresh = useRefresh(["registries"]);
  const remove = () =>
    ask(client.DELETE("/api/v1/registries/{name}", { params: { path: { name: stored.name } } }));
  const done = () => {
    refresh();
    close();
  };
  return (
    <DeleteButton name={stored.name} remove={remove} done={done}>
      <p>{t.delete(used)}</p>
    </DeleteButton>
  );
}
