import { Link } from "@tanstack/react-router";
import { ask, client, type Schemas } from "@/api/client";
import type { Opened } from "@/forms/conflict";
import { DeleteButton } from "@/forms/DeleteButton";
import { ifMatch, type Tagged } from "@/forms/etag";
import { TextField } from "@/forms/Fields";
import { FormSheet } from "@/forms/FormSheet";
import { formTexts } from "@/forms/formTexts";
import { emptyToUndefined, onlyProblems, toNumber } from "@/forms/formValues";
import { NameField, nameProblem } from "@/forms/NameField";
import { useForm } from "@/forms/useForm";
import { useRefresh, useSaved } from "@/forms/useSaved";
import { projectTexts as t } from "@/pages/projects/projectTexts";
import { PlacementFields, placementOf, placementValues } from "../environments/PlacementFields";
import { useReasonNotAdmin } from "../shell/usePermissionReason";

type Project = Schemas["Project"];
type Props = { opened?: Opened<Project>; taken: string[]; close: () => void };

const start = (stored?: Project) => ({
  name: stored?.name ?? "",
  description: stored?.description ?? "",
  cpu: stored?.resources.cpu ? String(stored.resources.cpu) : "",
  memory_mib: stored?.resources.memory_mib ? String(stored.resources.memory_mib) : "",
  cleanup_after_hours: stored?.cleanup_after_hours?.toString() ?? "",
  environments: stored?.environments?.join(", ") ?? "",
  ...placementValues(stored?.placement),
});
type Values = ReturnType<typeof start>;

const save = (values: Values, over?: Tagged<Project>) =>
  ask(
    client.PUT("/api/v1/projects/{name}", {
      params: { path: { name: values.name } },
      headers: ifMatch(over?.tag),
      body: {
        description: emptyToUndefined(values.description),
        resources: {
          cpu: values.cpu ? Number(values.cpu) : undefined,
          memory_mib: toNumber(values.memory_mib),
        },
        cleanup_after_hours: toNumber(values.cleanup_after_hours),
        placement: placementOf(values),
        environments: namesIn(values.environments),
      },
    }),
  );

/** The names in a list with commas or spaces between; nothing when there are none. */
const namesIn = (text: string) => {
  const names = text.split(/[\s,]+/).filter(Boolean);
  return names.length > 0 ? names : undefined;
};

const numberProblem = (text: string) => (Number.isNaN(toNumber(text)) ? t.numberWrong : undefined);

/** Makes a project, or changes its limits, clean-up and what it asks of nodes. */
export function ProjectSheet({ opened, taken, close }: Props) {
  const stored = opened?.value;
  const reason = useReasonNotAdmin();
  const saved = useSaved(["projects", "project"], close);
  const form = useForm(start(stored), {
    check: (values) =>
      onlyProblems({
        name: stored ? undefined : nameProblem(values.name, taken),
        cpu: values.cpu === "" || Number(values.cpu) >= 0 ? undefined : t.numberWrong,
        memory_mib: numberProblem(values.memory_mib),
        cleanup_after_hours: numberProblem(values.cleanup_after_hours),
      }),
    opened,
    valuesOf: start,
    save,
    saved: (answer, values) => saved(values.name, answer),
  });
  return (
    <FormSheet
      title={stored ? stored.name : t.addTitle}
      form={form}
      onClose={close}
      submit={stored ? undefined : formTexts.create}
      busy={stored ? undefined : formTexts.creating}
      locked={reason}
      extra={stored && !reason ? <Delete stored={stored} close={close} /> : null}
    >
      {stored ? <Ways name={stored.name} /> : <NameField form={form} taken={taken} />}
      <TextField form={form} name="description" label={t.description} optional maxLength={500} />
      <div className="two">
        <TextField form={form} name="cpu" label={t.cpu} />
        <TextField form={form} name="memory_mib" type="number" label={t.memory} />
      </div>
      <p className="hint">{t.limits}</p>
      <TextField
        form={form}
        name="cleanup_after_hours"
        type="number"
        label={t.cleanupLabel}
        hint={t.cleanupHint}
      />
      <TextField
        form={form}
        name="environments"
        label={t.environmentsLabel}
        hint={t.environmentsHint}
        optional
      />
      <PlacementFields form={form} />
    </FormSheet>
  );
}

function Ways({ name }: { name: string }) {
  return (
    <p className="row gap-4">
      <Link className="link" to="/projects/$name/pipeline" params={{ name }}>
        {t.drawPipeline}
      </Link>
      <Link className="link" to="/secrets" search={{ project: name }}>
        {t.secrets}
      </Link>
      <Link className="link" to="/deployments" search={{ project: name }}>
        {t.columns.deployments}
      </Link>
    </p>
  );
}

function Delete({ stored, close }: { stored: Project; close: () => void }) {
  const refresh = useRefresh(["projects"]);
  const remove = () =>
    ask(client.DELETE("/api/v1/projects/{name}", { params: { path: { name: stored.name } } }));
  const done = () => {
    refresh();
    close();
  };
  return (
    <DeleteButton name={stored.name} remove={remove} done={done}>
      <p>{t.delete(stored.deployments)}</p>
    </DeleteButton>
  );
}
