import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import type { Opened } from "@/forms/conflict";
import { DeleteButton } from "@/forms/DeleteButton";
import { ifMatch, type Tagged } from "@/forms/etag";
import { CheckField, TextField } from "@/forms/Fields";
import { FormSheet } from "@/forms/FormSheet";
import { formTexts } from "@/forms/formTexts";
import { emptyToUndefined, onlyProblems, toNumber } from "@/forms/formValues";
import { NameField, nameProblem } from "@/forms/NameField";
import { useForm } from "@/forms/useForm";
import { useRefresh, useSaved } from "@/forms/useSaved";
import { environmentTexts as t } from "@/pages/environments/environmentTexts";
import { orderTexts } from "@/pages/environments/orderTexts";
import { useReasonNotAdmin } from "../shell/usePermissionReason";
import { CapacityFields, capacityOf, capacityValues } from "./CapacityFields";
import { Orders } from "./CertificateOrders";
import { DnsRecord } from "./DnsRecord";
import { GateSettings } from "./GateSettings";
import { PlacementFields, placementOf, placementValues } from "./PlacementFields";
import { RobotTokens } from "./RobotTokens";

type Environment = Schemas["Environment"];
type Props = { opened?: Opened<Environment>; taken: string[]; close: () => void };

/** Proposed for a new environment: seven days without activity. */
const PROPOSED_CLEANUP_HOURS = "168";

const start = (stored?: Environment) => ({
  name: stored?.name ?? "",
  domain: stored?.domain ?? "",
  description: stored?.description ?? "",
  restricted: stored?.restricted ?? false,
  cleanup_after_hours: stored ? String(stored.cleanup_after_hours || "") : PROPOSED_CLEANUP_HOURS,
  ignore_visits: stored?.ignore_visits ?? false,
  ignore_presence: stored?.ignore_presence ?? false,
  ...placementValues(stored?.placement),
  ...capacityValues(stored?.capacity),
});
type Values = ReturnType<typeof start>;

const save = (values: Values, over?: Tagged<Environment>) =>
  ask(
    client.PUT("/api/v1/environments/{name}", {
      params: { path: { name: values.name } },
      headers: ifMatch(over?.tag),
      body: {
        domain: values.domain.trim(),
        description: emptyToUndefined(values.description),
        restricted: values.restricted,
        cleanup_after_hours: toNumber(values.cleanup_after_hours) ?? 0,
        ignore_visits: values.ignore_visits,
        ignore_presence: values.ignore_presence,
        placement: placementOf(values),
        capacity: capacityOf(values),
      },
    }),
  );

/** Makes or changes one environment. */
export function EnvironmentSheet({ opened, taken, close }: Props) {
  const stored = opened?.value;
  const reason = useReasonNotAdmin();
  const saved = useSaved(["environments"], close);
  const [ordersDirty, setOrdersDirty] = useState(false);
  const [robotDirty, setRobotDirty] = useState(false);
  const apart = ordersDirty ? orderTexts.saveFirst : robotDirty ? t.robots.makeFirst : undefined;
  const form = useForm(start(stored), {
    check: (values) =>
      onlyProblems({
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
      submit={stored ? undefined : formTexts.create}
      busy={stored ? undefined : formTexts.creating}
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
      <DnsRecord name={name} domain={domain.trim()} />
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
      <CheckField
        form={form}
        name="ignore_presence"
        label={t.ignorePresenceLabel}
        hint={t.ignorePresenceHint}
      />
      <PlacementFields form={form} />
      <CapacityFields form={form} />
      {stored ? <GateSettings name={stored.name} reason={reason} /> : null}
      {stored && !reason ? <RobotTokens name={stored.name} dirty={setRobotDirty} /> : null}
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
    <DeleteButton name={stored.name} remove={remove} done={done}>
      <p>{t.delete(stored.nodes)}</p>
    </DeleteButton>
  );
}
