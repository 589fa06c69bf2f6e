import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import { client, type Schemas } from "@/api/client";
import { BidiSafe } from "@/components/BidiSafe";
import { buttonClass } from "@/components/Button";
import { Time } from "@/components/Time";
import { LoadStored } from "@/forms/LoadStored";
import { Listing } from "@/lists/Listing";
import type { Column, ListFilter } from "@/lists/listProps";
import { OpenLink } from "@/lists/OpenLink";
import { useOpenSheet } from "@/lists/useOpenSheet";
import { templateTexts as t } from "@/pages/templates/templateTexts";
import { templates } from "../create/queries";
import { ByProject, type Lack } from "../projects/ByProject";
import { usePermissionReason } from "../shell/usePermissionReason";
import { TemplateSheet } from "./TemplateSheet";

type Template = Schemas["Template"];
type Project = Schemas["Project"];

const columns: Column<Template>[] = [
  {
    head: t.columns.name,
    cell: (one) => (
      <span className="row">
        <OpenLink name={one.name} />
        <span className="t2 s tr">
          <BidiSafe text={one.description ?? ""} />
        </span>
      </span>
    ),
  },
  {
    head: t.columns.environment,
    cell: (one) => one.environment ?? <span className="t2">{t.unchosen}</span>,
  },
  { head: t.columns.versions, cell: (one) => <Versions of={one.versions} /> },
  {
    head: t.columns.changed,
    wide: true,
    cell: (one) => (
      <span className="t2">
        <Time at={one.updated_at} /> {t.by(one.updated_by)}
      </span>
    ),
  },
];

function Versions({ of }: { of: Template["versions"] }) {
  const all = Object.entries(of);
  if (all.length === 0) return <span className="t2">{t.newest}</span>;
  return (
    <span className="row flex-wrap gap-1">
      {all.map(([step, tag]) => (
        <span key={step} className="chip mono" title={`${step}: ${tag}`}>
          {step}: {tag}
        </span>
      ))}
    </span>
  );
}

/** Only for those who may create: the way from a template to its deployment. */
const use = (project: string): Column<Template> => ({
  head: t.columns.acts,
  cell: (one) => (
    <Link
      to="/deployments/new"
      search={{ project, env: one.environment, template: one.name }}
      className={buttonClass("plain", true)}
      aria-label={t.useOf(one.name)}
    >
      {t.use}
    </Link>
  ),
});

const filters: ListFilter<Template>[] = [
  {
    key: "env",
    label: t.columns.environment,
    any: t.anyEnvironment,
    of: (one) => one.environment ?? t.unchosen,
  },
];

const text = (one: Template) =>
  `${one.name} ${one.description} ${Object.values(one.versions).join(" ")}`;
const key = (one: Template) => one.name;

/** What new deployments of a project may begin with. */
export function Templates() {
  return (
    <ByProject texts={t}>
      {(project, pick, known, lack) => (
        <OfProject key={project} name={project} pick={pick} project={known} lack={lack} />
      )}
    </ByProject>
  );
}

type Props = { name: string; pick: ReactNode; project?: Project; lack?: Lack };

function OfProject({ name, pick, project, lack }: Props) {
  const query = useQuery(templates(name));
  const { opened, adding, add, close } = useOpenSheet();
  const may = project?.can_create ?? false;
  const lacking = usePermissionReason({
    may: may || !project,
    object: `project/${name}`,
    on: `project ${name}`,
  });
  const reason = lacking ?? lack?.reason;
  const sheet = { project: name, services: project?.services ?? [], reason, close };
  const shown = useMemo(() => (may ? [...columns, use(name)] : columns), [may, name]);
  return (
    <Listing
      title={t.title}
      query={query}
      rowKey={key}
      columns={shown}
      text={text}
      filters={filters}
      unread={t.unread}
      emptyTitle={t.emptyTitle(name)}
      empty={reason ? t.emptyRead : t.empty}
      bar={pick}
      above={lack?.said}
      add={{ label: t.add, run: add, reason }}
    >
      {adding && may ? <TemplateSheet taken={query.data?.map(key) ?? []} {...sheet} /> : null}
      {opened && project ? (
        <LoadStored
          key={opened}
          kind={`templates of ${name}`}
          name={opened}
          close={close}
          read={() =>
            client.GET("/api/v1/projects/{name}/templates/{template}", {
              params: { path: { name, template: opened } },
            })
          }
        >
          {(read) => <TemplateSheet opened={read} taken={[]} {...sheet} />}
        </LoadStored>
      ) : null}
    </Listing>
  );
}
