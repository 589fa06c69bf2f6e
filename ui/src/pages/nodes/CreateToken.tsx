import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { ApiError, ask, client, type Schemas } from "@/api/client";
import { environments as environmentsQuery } from "@/api/queries/catalog";
import { Button } from "@/components/Button";
import { CommandLine } from "@/components/CommandLine";
import { Field, Refusal } from "@/components/Field";
import { Sheet } from "@/components/Overlay";
import { Select } from "@/components/Select";
import { describeError } from "@/components/States";
import { nodeTexts } from "@/nodeTexts";
import { createTexts } from "@/pages/create/createTexts";
import { texts } from "@/texts";
import { provisioningTexts as t } from "./provisioningTexts";

type Created = Schemas["ProvisioningTokenCreated"];

/** Asks what a provisioning token is for, then shows the line that uses it, once. */
export function CreateToken({ close, made }: { close: () => void; made: () => void }) {
  const [created, setCreated] = useState<Created>();
  if (!created)
    return (
      <Form
        close={close}
        made={(one) => {
          made();
          setCreated(one);
        }}
      />
    );
  const { provisioning_token: token, command } = created;
  const foot = (
    <div className="row end">
      <Button look="ink" onClick={close}>
        {nodeTexts.doneButton}
      </Button>
    </div>
  );
  return (
    <Sheet open narrow onClose={close} title={t.made(token.prefix)} foot={foot}>
      <div className="form grow">
        <CommandLine line={command} what={t.command} hint={t.commandHint(token.max_uses)} />
      </div>
    </Sheet>
  );
}

/** The number that is typed, or nothing if it is not a whole one up to the most. */
function readCount(text: string, most: number): number | undefined {
  const count = /^\d+$/.test(text.trim()) ? Number(text) : 0;
  return count >= 1 && count <= most ? count : undefined;
}

function Form({ close, made }: { close: () => void; made: (created: Created) => void }) {
  const environments = useQuery(environmentsQuery).data ?? [];
  const [body, setBody] = useState({ env: "", uses: "", hours: "24", template: "", pattern: "" });
  const [checked, setChecked] = useState(false);
  const environment = body.env || environments[0]?.name || "";
  const uses = readCount(body.uses, 10_000);
  const hours = readCount(body.hours, 8760);
  const create = useMutation({
    mutationFn: (counts: { max_uses: number; expires_in_hours: number }) =>
      ask(
        client.POST("/api/v1/provisioning-tokens", {
          body: {
            ...counts,
            environment,
            template: body.template.trim() || undefined,
            name_pattern: body.pattern.trim() || undefined,
          },
        }),
      ),
    onSuccess: made,
  });
  const set = (change: Partial<typeof body>) => {
    setBody({ ...body, ...change });
    create.reset();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setChecked(true);
    if (create.isPending || !uses || !hours) return;
    create.mutate({ max_uses: uses, expires_in_hours: hours });
  };
  const refused = create.error ? describeError(create.error).message : undefined;
  const field = create.error instanceof ApiError ? create.error.problem.field : undefined;
  const says = (name: string) => (field === name ? refused : undefined);
  const foot = (
    <div className="row end">
      <Button onClick={close}>{texts.close}</Button>
      <Button look="ink" type="submit" form="create-token" busy={create.isPending && t.busy}>
        {t.add}
      </Button>
    </div>
  );
  return (
    <Sheet open narrow onClose={close} title={t.title} foot={foot}>
      <form id="create-token" className="form grow" onSubmit={submit} noValidate>
        <div className="field">
          <span className="lbl">{t.environment}</span>
          <div>
            <Select
              label={t.environment}
              placeholder={createTexts.chooseEnvironment}
              value={environment || null}
              options={environments.map((one) => ({ value: one.name, label: one.name }))}
              onChange={(next) => set({ env: next })}
            />
          </div>
        </div>
        <Field
          label={t.uses}
          inputMode="numeric"
          value={body.uses}
          error={checked && !uses ? t.usesWrong : undefined}
          hint={t.usesHint}
          onChange={(event) => set({ uses: event.target.value })}
        />
        <Field
          label={t.hours}
          inputMode="numeric"
          value={body.hours}
          error={checked && !hours ? t.hoursWrong : undefined}
          hint={t.hoursHint}
          onChange={(event) => set({ hours: event.target.value })}
        />
        <Field
          label={t.template}
          mono
          spellCheck={false}
          value={body.template}
          error={says("template")}
          hint={t.templateHint}
          onChange={(event) => set({ template: event.target.value })}
        />
        <Field
          label={t.pattern}
          mono
          spellCheck={false}
          placeholder={t.patternDefault}
          value={body.pattern}
          error={says("name_pattern")}
          hint={t.patternHint}
          onChange={(event) => set({ pattern: event.target.value })}
        />
        {refused && !says("template") && !says("name_pattern") ? (
          <Refusal>{refused}</Refusal>
        ) : null}
      </form>
    </Sheet>
  );
}
