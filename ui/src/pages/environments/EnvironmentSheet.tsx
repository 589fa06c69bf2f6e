import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import type { Opened } from "@/forms/conflict";
import { DeleteAct } from "@/forms/DeleteButton";
import { onlyOver, type Tagged } from "@/forms/etag";
import { CheckField, TextField } from "@/forms/Fields";
import { FormSheet } from "@/forms/FormSheet";
import { adminTexts } from "@/forms/formTexts";
import { orNothing, toNumber, wrongs } from "@/forms/formValues";
import { NameField, nameProblem } from "@/forms/NameField";
import { useForm } from "@/forms/useForm";
import { useRefresh, useSaved } from "@/forms/useSaved";
import { environmentTexts as t } from "@/pages/environments/environmentTexts";
import { orderTexts } from "@/pages/environments/orderTexts";
import { useMayAdmin } from "../shell/usePermissionReason";
import { Orders } from "./CertificateOrders";
import { Dns } from "./DnsRecord";
import { Gate } from "./GateSettings";
import { PlacementFields, placementOf, placementValues } from "./PlacementFields";
import { Robots } from "./RobotTokens";

type Environment = Schemas["Environment"];
type Props = { opened?: Opened<Environment>; taken: string[]; close: () => void };

const start = (stored?: Environment) => ({
  name: stored?.name ?? "",
  domain: stored?.domain ?? "",
  description: stored?.description ?? "",
  restricted: stored?.restricted ?? false,
  cleanup_after_hours: stored?.cleanup_after_hours ? String(stored.cleanup_after_hours) : "",
  ignore_visits: stored?.ignore_visits ?? false,
  ...placementValues(stored?.placement),
});
type Values = ReturnType<typeof start>;

const save = (values: Values, over?: Tagged<Environment>) =>
  ask(
    client.PUT("/api/v1/environments/{name}", {
      params: { path: { name: values.name } },
      headers: onlyOver(over?.tag),
      body: {
        domain: values.domain.trim(),
        description: orNothing(values.description),
        restricted: values.restricted,
        cleanup_after_hours: toNumber(values.cleanup_after_hours) ?? 0,
        ignore_visits: values.ignore_visits,
        placement: placementOf(values),
      },
    }),
  );

/** Makes or changes one environment. */
export function EnvironmentSheet({ opened, taken, close }: Props) {
  const stored = opened?.value;
  const reason = useMayAdmin();
  const saved = useSaved(["environments"], close);
  const [ordersDirty, setOrdersDirty] = useState(false);
  const [robotDirty, setRobotDirty] = useState(false);
  const apart = ordersDirty ? orderTexts.saveFirst : robotDirty ? t.robots.makeFirst : undefined;
  const form = useForm(start(stored), {
    check: (values) =>
      wrongs({
        name: stored ? undefined : nameProblem(values.name, taken),
        domain: values.domain.trim() ? undefined : t.domainMissing,
        cleanup_after_hours: Number.isNaN(toNumber(values.cleanup_after_hours))
          ? t.cleanupWrong
          : undefined,
      }),
    opened,
    valuesOf: start,
    save,
    saved: (answer, values) => saved(values.name, answer),
  });
  const { name, domain } = form.values;
  return (
    <FormSheet
      title={stored ? stored.name : t.addTitle}
      form={form}
      onClose={close}
      submit={stored ? undefined : adminTexts.create}
      busy={stored ? undefined : adminTexts.creating}
      locked={reason}
      reason={apart}
      alsoDirty={apart !== undefined}
      extra={stored && !reason ? <Delete stored={stored} close={close} /> : null}
    >
      {stored ? <Uses stored={stored} /> : <NameField form={form} taken={taken} />}
      <TextField
        form={form}
        name="domain"
        label={t.domain}
        mono
        placeholder="lab.example.com"
        hint={t.domainHint(name, domain)}
      />
      <Dns name={name} domain={domain.trim()} />
      <TextField form={form} name="description" label={t.description} optional maxLength={500} />
      <CheckField form={form} name="restricted" label={t.restrictedLabel} hint={t.restrictedHint} />
      <TextField
        form={form}
        name="cleanup_after_hours"
        type="number"
        label={t.cleanupLabel}
        hint={t.cleanupHint}
      />
      <CheckField
        form={form}
        name="ignore_visits"
        label={t.ignoreVisitsLabel}
        hint={t.ignoreVisitsHint}
      />
      <PlacementFields form={form} />
      {stored ? <Gate name={stored.name} reason={reason} /> : null}
      {stored && !reason ? <Robots name={stored.name} dirty={setRobotDirty} /> : null}
      {stored && !reason ? <Orders name={stored.name} dirty={setOrdersDirty} /> : null}
    </FormSheet>
  );
}

function Uses({ stored }: { stored: Environment }) {
  return (
    <p className="row t2">
      <Link className="link" to="/deployments" search={{ env: stored.name }}>
        {t.deployments}
      </Link>
    </p>
  );
}

function Delete({ stored, close }: { stored: Environment; close: () => void }) {
  const refresh = useRefresh(["environments"]);
  const remove = () =>
    ask(client.DELETE("/api/v1/environments/{name}", { params: { path: { name: stored.name } } }));
  const done = () => {
    refresh();
    close();
  };
  return (
    <DeleteAct name={stored.name} remove={remove} done={done}>
      <p>{t.delete(stored.nodes)}</p>
    </DeleteAct>
  );
}
