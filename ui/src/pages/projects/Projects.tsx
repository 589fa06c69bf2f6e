import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Settings } from "lucide-react";
import { client, type Schemas } from "@/api/client";
import { projects } from "@/api/queries/catalog";
import { BidiSafe } from "@/components/BidiSafe";
import { formatBytes, formatNumber } from "@/components/quantity";
import { LoadStored } from "@/forms/LoadStored";
import { Listing } from "@/lists/Listing";
import type { Column, ListFilter } from "@/lists/listProps";
import { useOpenSheet } from "@/lists/useOpenSheet";
import { projectTexts as t } from "@/pages/projects/projectTexts";
import { useReasonNotAdmin } from "../shell/usePermissionReason";
import { ProjectSheet } from "./ProjectSheet";

type Project = Schemas["Project"];

const room = ({ resources }: Project) =>
  t.room(
    resources.cpu ? t.cores(formatNumber(resources.cpu)) : "",
    resources.memory_mib ? formatBytes(resources.memory_mib * 1024 * 1024) : "",
  );

const columns: Column<Project>[] = [
  {
    head: t.columns.name,
    cell: (one) => (
      <span className="row">
        <Link className="hover:underline" to="/projects/$name/pipeline" params={{ name: one.name }}>
          <b>{one.name}</b>
        </Link>
        <span className="t2 s tr">
          <BidiSafe text={one.description ?? ""} />
        </span>
      </span>
    ),
  },
  {
    head: t.columns.pipeline,
    cell: (one) => (
      <span className="t2">{one.pipeline_version ? `v${one.pipeline_version}` : t.noPipeline}</span>
    ),
  },
  {
    head: t.columns.services,
    cell: (one) => (
      <span className="t2">{(one.services ?? []).map((service) => service.step).join(", ")}</span>
    ),
  },
  { head: t.columns.room, wide: true, cell: (one) => <span className="t2 nw">{room(one)}</span> },
  {
    head: t.columns.deployments,
    cell: (one) => (
      <Link className="link" to="/deployments" search={{ project: one.name }}>
        {one.deployments}
      </Link>
    ),
  },
];

const settings: Column<Project> = {
  head: t.columns.acts,
  cell: (one) => (
    <Link
      className="btn ghost sm ic"
      to="/projects"
      search={(before) => ({ ...before, open: one.name })}
      aria-label={t.settingsOf(one.name)}
      title={t.settingsOf(one.name)}
    >
      <Settings className="i sm" aria-hidden="true" />
    </Link>
  ),
};

const filters: ListFilter<Project>[] = [
  {
    key: "pipeline",
    label: t.pipelineState,
    any: t.anyPipeline,
    of: (one) => (one.pipeline_version ? "yes" : "no"),
    say: (value) => (value === "yes" ? t.withPipeline : t.withoutPipeline),
  },
];

const text = (one: Project) => `${one.name} ${one.description ?? ""}`;
const key = (one: Project) => one.name;

/** What deployments are copies of. */
export function Projects() {
  const query = useQuery(projects);
  const reason = useReasonNotAdmin();
  const { opened, adding, add, close } = useOpenSheet();
  const taken = query.data?.map(key) ?? [];
  return (
    <Listing
      title={t.title}
      query={query}
      rowKey={key}
      columns={reason ? columns : [...columns, settings]}
      text={text}
      filters={filters}
      unread={t.unread}
      emptyTitle={t.emptyTitle}
      empty={reason ? t.emptyRead : t.empty}
      add={{ label: t.add, run: add, reason }}
    >
      {adding && !reason ? <ProjectSheet taken={taken} close={close} /> : null}
      {opened ? (
        <LoadStored
          key={opened}
          kind="projects"
          name={opened}
          close={close}
          read={() => client.GET("/api/v1/projects/{name}", { params: { path: { name: opened } } })}
        >
          {(read) => <ProjectSheet opened={read} taken={taken} close={close} />}
        </LoadStored>
      ) : null}
    </Listing>
  );
}
