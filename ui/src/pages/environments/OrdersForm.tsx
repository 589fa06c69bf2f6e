import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { ask, client } from "@/api/client";
import { Button } from "@/components/Button";
import { Refusal } from "@/components/Field";
import { describeError } from "@/components/States";
import { useToast } from "@/components/Toast";
import { ifMatch } from "@/forms/etag";
import { SelectField, TextArea, TextField } from "@/forms/Fields";
import { SaveFailure } from "@/forms/FormSheet";
import { formTexts } from "@/forms/formTexts";
import { SeparateForm } from "@/forms/SeparateForm";
import { type Form, useForm } from "@/forms/useForm";
import { orderTexts as t } from "@/pages/environments/orderTexts";
import { type Orders as OrdersRead, PATH, type Read, readOrders } from "./orderApi";

export const queryKey = (name: string) => ["environment", name, "certificate-orders"];

const start = (o: OrdersRead | null) => ({
  challenge: o?.challenge ?? "",
  directory: o?.directory || t.letsEncrypt,
  email: o?.email ?? "",
  roots: o?.roots ?? "",
  dns: o?.dns || "rfc2136",
  dns_server: o?.dns_server ?? "",
  dns_user: o?.dns_user ?? "",
  dns_secret: "",
  eab_key_id: o?.eab_key_id ?? "",
  eab_key: "",
});
type Values = ReturnType<typeof start>;

function save(name: string, v: Values, over: string): Promise<unknown> {
  const params = { path: { name } };
  const headers = ifMatch(over || undefined);
  if (v.challenge === "") return ask(client.DELETE(PATH, { params, headers }));
  const dns = v.challenge === "dns-01";
  return ask(
    client.PUT(PATH, {
      params,
      headers,
      body: {
        challenge: v.challenge as "http-01" | "dns-01",
        directory: v.directory.trim(),
        email: v.email.trim(),
        roots: v.roots.trim(),
        dns: dns ? (v.dns as "rfc2136" | "webhook") : "",
        dns_server: dns ? v.dns_server.trim() : "",
        dns_user: dns ? v.dns_user.trim() : "",
        dns_secret: dns && v.dns_secret ? v.dns_secret : undefined,
        eab_key_id: v.eab_key_id.trim(),
        eab_key: v.eab_key.trim() || undefined,
      },
    }),
  );
}

type SettingsProps = {
  name: string;
  read: Read;
  /** Told whether something here is not saved: the sheet asks before it closes. */
  dirty: (yes: boolean) => void;
};

/** A form on what was read when it was shown or saved last; the certificates above go on being read. */
export function Settings({ name, read: now, dirty }: SettingsProps) {
  const [opened, open] = useState({ first: now, turn: 0 });
  return (
    <OrdersForm
      key={opened.turn}
      name={name}
      opened={opened.first}
      now={now.value}
      dirty={dirty}
      reopen={(first) => open(({ turn }) => ({ first, turn: turn + 1 }))}
    />
  );
}

type FormProps = {
  name: string;
  opened: Read;
  now: OrdersRead | null;
  dirty: (yes: boolean) => void;
  reopen: (read: Read) => void;
};

function OrdersForm({ name, opened, now, dirty, reopen }: FormProps) {
  const cache = useQueryClient();
  const say = useToast();
  const form = useForm(start(opened.value), {
    opened: { ...opened, again: () => readOrders(name) },
    valuesOf: start,
    save: async (values, over) => {
      await save(name, values, over?.tag ?? "");
      // The save is done: that it can't be read again now is no refusal of it.
      return readOrders(name).catch(() => undefined);
    },
    saved: (stored, values) => {
      if (stored) reopen(stored);
      else form.restart({ ...values, dns_secret: "", eab_key: "" });
      void cache.invalidateQueries({ queryKey: queryKey(name) });
      say("done", t.saved(name));
    },
  });
  useEffect(() => {
    dirty(form.dirty);
    return () => dirty(false);
  }, [dirty, form.dirty]);
  const retry = useMutation({
    mutationFn: () => ask(client.POST(`${PATH}/retry`, { params: { path: { name } } })),
    onSuccess: () => void cache.invalidateQueries({ queryKey: queryKey(name) }),
  });
  const failing = now?.certificates.some((one) => one.wanted && one.error);
  const waits = form.meanwhile?.undecided.length ?? 0;
  return (
    <SeparateForm className="col gap-4" act={() => form.dirty && form.submit()}>
      <Fields form={form} stored={now} />
      <SaveFailure form={form} />
      {retry.error ? <Refusal>{describeError(retry.error).message}</Refusal> : null}
      <div className="row">
        <Button
          act={t.save}
          onClick={form.submit}
          reason={
            waits > 0 ? formTexts.meanwhile.undecided(waits) : form.dirty ? undefined : t.same
          }
          busy={form.busy && formTexts.saving}
        >
          {t.save}
        </Button>
        {failing ? (
          <Button act={t.retry} onClick={() => retry.mutate()}>
            {t.retry}
          </Button>
        ) : null}
      </div>
    </SeparateForm>
  );
}

function Fields({ form, stored }: { form: Form<Values>; stored: OrdersRead | null }) {
  const { challenge, dns, eab_key_id } = form.values;
  return (
    <>
      <SelectField form={form} name="challenge" label={t.challenge} options={t.challenges} />
      {challenge ? (
        <>
          <TextField form={form} name="directory" label={t.directory} mono hint={t.directoryHint} />
          <TextField form={form} name="email" label={t.email} optional />
          <TextArea form={form} name="roots" label={t.roots} hint={t.rootsHint} mono optional />
          <TextField
            form={form}
            name="eab_key_id"
            label={t.bindingId}
            hint={t.bindingHint}
            mono
            optional
          />
          {eab_key_id ? (
            <TextField
              form={form}
              name="eab_key"
              type="password"
              label={t.bindingKey}
              hint={stored?.eab_key_set ? t.secretSet : undefined}
            />
          ) : null}
        </>
      ) : null}
      {challenge === "dns-01" ? (
        <>
          <SelectField form={form} name="dns" label={t.dns} options={t.servers} />
          <TextField
            form={form}
            name="dns_server"
            label={dns === "webhook" ? t.webhook : t.server}
            mono
            hint={dns === "webhook" ? t.webhookHint : undefined}
          />
          <TextField form={form} name="dns_user" label={dns === "webhook" ? t.user : t.key} mono />
          <TextField
            form={form}
            name="dns_secret"
            type="password"
            label={dns === "webhook" ? t.password : t.secret}
            hint={stored?.dns_secret_set ? t.secretSet : undefined}
          />
        </>
      ) : null}
    </>
  );
}
