import { useQuery } from "@tanstack/react-query";
import { ask, client, type Schemas } from "@/api/client";
import { environments, projects } from "@/api/queries/catalog";
import type { Opened } from "@/forms/conflict";
import { DeleteButton } from "@/forms/DeleteButton";
import { ifMatch } from "@/forms/etag";
import { CheckField, SelectField, TextField } from "@/forms/Fields";
import { FormSheet } from "@/forms/FormSheet";
import { formTexts } from "@/forms/formTexts";
import { NameField } from "@/forms/NameField";
import { type Form, useForm } from "@/forms/useForm";
import { useRefresh, useSaved } from "@/forms/useSaved";
import { ruleTexts as t } from "@/pages/rules/ruleTexts";
import { nameOptions } from "../webhooks/ScopeFields";
import { CodeHostFields } from "./CodeHostFields";
import { Reviews } from "./Reviews";
import { RuleAddress } from "./RuleAddress";
import { ScheduleFields } from "./ScheduleFields";
import {
  bodyOf,
  findProblems,
  hasForks,
  initialValues,
  isSchedule,
  leadsTo,
  tagProblem,
  type Values,
} from "./values";

type Rule = Schemas["Rule"];
type Props = {
  opened?: Opened<Rule>;
  taken: string[];
  made: (made: { name: string; source: Rule["source"]; secret: string }) => void;
  close: () => void;
};

const toOptions = (words: Record<string, string>) =>
  Object.entries(words).map(([value, label]) => ({ value, label }));
const sources = toOptions(t.sources);
const updateWays = toOptions(t.updateWays);
const dataWays = toOptions(t.dataWays);

/** Adds or changes one rule. */
export function RuleSheet({ opened, taken, made, close }: Props) {
  const saved = useSaved(["rules", "reviews"], close);
  const rule = opened?.value;
  const form = useForm(initialValues(rule), {
    check: (values) => findProblems(values, rule !== undefined, taken),
    opened,
    valuesOf: initialValues,
    save: (values, over) =>
      ask(
        client.PUT("/api/v1/rules/{name}", {
          params: { path: { name: values.name } },
          headers: ifMatch(over?.tag),
          body: bodyOf(values),
        }),
      ),
    saved: ({ created, secret }, { name, source }) => {
      saved(name, { changed: true, created });
      if (secret) made({ name, source, secret });
    },
  });
  return (
    <FormSheet
      title={rule ? rule.name : t.addTitle}
      form={form}
      onClose={close}
      submit={rule ? undefined : formTexts.create}
      busy={rule ? undefined : formTexts.creating}
      extra={rule ? <Delete name={rule.name} close={close} /> : null}
      side={rule ? <Reviews name={rule.name} /> : null}
    >
      {rule ? null : <NameField form={form} taken={taken} hint={t.nameHint} />}
      {rule && rule.source !== "schedule" ? (
        <RuleAddress name={rule.name} hint={t.addressHint} />
      ) : null}
      {isSchedule(form.values.source) ? (
        <ScheduleFields form={form} sources={sources} next={rule?.next_run_at} />
      ) : (
        <Takes form={form} />
      )}
      <Deploys form={form} />
      {isSchedule(form.values.source) ? null : <CodeHostFields form={form} stored={rule} />}
      <CheckField form={form} name="active" label={t.active} hint={t.activeHint} />
    </FormSheet>
  );
}

/** Which events the rule takes. */
function Takes({ form }: { form: Form<Values> }) {
  const tags = form.values.source === "registry";
  return (
    <>
      <SelectField form={form} name="source" label={t.source} options={sources} />
      <TextField
        form={form}
        name="repository"
        label={t.repository}
        mono
        optional
        maxLength={300}
        hint={t.repositoryHint}
      />
      <TextField
        form={form}
        name="branch"
        label={tags ? t.branchOfTags : t.branch}
        mono
        optional
        maxLength={128}
        hint={tags ? t.tagsHint : t.branchHint}
      />
      {tags ? null : <Filter form={form} />}
    </>
  );
}

const lists = ["labels", "authors", "paths"] as const;

/** Which pull requests the rule is for; all if nothing is filled in. */
function Filter({ form }: { form: Form<Values> }) {
  return (
    <>
      <TextField
        form={form}
        name="target"
        label={t.target}
        mono
        optional
        maxLength={128}
        hint={t.targetHint}
      />
      {lists.map((name) => (
        <TextField
          key={name}
          form={form}
          name={name}
          label={t[name]}
          mono
          optional
          hint={t.listHints[name]}
        />
      ))}
      <CheckField form={form} name="skip_drafts" label={t.skipDrafts} hint={t.skipDraftsHint} />
    </>
  );
}

/** What the rule deploys: the tag that belongs to the branch, of which project, where. */
function Deploys({ form }: { form: Form<Values> }) {
  const of = useQuery(projects);
  const and = useQuery(environments);
  const { project, environment } = form.values;
  return (
    <>
      {isSchedule(form.values.source) ? null : (
        <TextField
          form={form}
          name="tag"
          label={t.tag}
          mono
          maxLength={200}
          hint={tagHint(form.values)}
        />
      )}
      <div className="two">
        <SelectField
          form={form}
          name="project"
          label={t.project}
          placeholder={t.choose}
          options={nameOptions(of.data, project)}
          source={{ what: formTexts.projectsUnread, of }}
        />
        <SelectField
          form={form}
          name="environment"
          label={t.environment}
          placeholder={t.choose}
          options={nameOptions(and.data, environment)}
          source={{ what: formTexts.environmentsUnread, of: and }}
        />
      </div>
      <TextField form={form} name="wait_minutes" type="number" label={t.wait} hint={t.waitHint} />
      <SelectField
        form={form}
        name="updates"
        label={t.updates}
        options={updateWays}
        hint={t.updatesHint}
      />
      {form.values.updates === "aside" ? (
        <SelectField
          form={form}
          name="data"
          label={t.data}
          options={dataWays}
          hint={dataHint(form.values)}
        />
      ) : null}
      <CheckField form={form} name="aliases" label={t.aliases} hint={t.aliasesHint} />
      {hasForks(form.values.source) ? (
        <CheckField form={form} name="forks" label={t.forks} hint={t.forksHint} />
      ) : null}
    </>
  );
}

const dataHint = ({ data }: Values) => (data === "keep" ? t.keepHint : t.freshHint);

function tagHint({ name, source, tag }: Values): string {
  if (source === "registry") return t.pushed;
  if (tagProblem(tag.trim())) return t.tagWords;
  const leads = leadsTo({ name, tag: tag.trim() });
  return `${t.tagWords} ${t.becomes(leads.tag, leads.deployment)}`;
}

function Delete({ name, close }: { name: string; close: () => void }) {
  const refresh = useRefresh(["rules"]);
  const remove = () => ask(client.DELETE("/api/v1/rules/{name}", { params: { path: { name } } }));
  const done = () => {
    refresh();
    close();
  };
  return (
    <DeleteButton name={name} remove={remove} done={done}>
      <p>{t.delete}</p>
    </DeleteButton>
  );
}
