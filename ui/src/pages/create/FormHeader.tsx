import { Select } from "@/components/Select";
import { createTexts } from "@/pages/create/createTexts";
import { deployTexts } from "@/pages/deployTexts";
import { environmentsFor, hasPipeline, type Read } from "./target";
import type { SheetState } from "./useSheet";

const t = createTexts;

/** Of which project, on which environment, and what it begins with. */
export function FormHeader({ read, sheet }: { read: Read; sheet: SheetState }) {
  const { place, set } = sheet;
  const { fields } = sheet.refusal;
  return (
    <>
      <span className="t3 hide-m">{t.of}</span>
      <Select
        label={t.project}
        invalid={Boolean(fields.project)}
        placeholder={t.chooseProject}
        value={place.project?.name ?? null}
        options={read.projects.filter(hasPipeline).map((one) => ({
          value: one.name,
          label: one.name,
          detail: one.pipeline_version ? t.version(one.pipeline_version) : undefined,
        }))}
        onChange={(next) => set({ project: next, template: undefined })}
      />
      <span className="t3">{t.on}</span>
      <Select
        label={t.environment}
        invalid={Boolean(fields.environment)}
        placeholder={t.chooseEnvironment}
        value={place.environment?.name ?? null}
        options={environmentsFor(read.environments, place.environment).map((one) => ({
          value: one.name,
          label: one.name,
          detail: one.nodes_online === 0 ? t.noNodeOnline : undefined,
        }))}
        onChange={(next) => set({ env: next })}
      />
      <Templates sheet={sheet} />
    </>
  );
}

function Templates({ sheet: { asked, search, set, template } }: { sheet: SheetState }) {
  const all = asked.query.data ?? [];
  if (all.length === 0) return null;
  const { label, none } = deployTexts.template;
  return (
    <Select
      label={label}
      placeholder={none}
      value={template?.name ?? ""}
      options={[
        { value: "", label: none },
        ...all.map((one) => ({ value: one.name, label: one.name, detail: one.description })),
      ]}
      onChange={(next) => {
        const chosen = all.find((one) => one.name === next);
        set({ template: next || undefined, env: chosen?.environment ?? search.env });
      }}
    />
  );
}
