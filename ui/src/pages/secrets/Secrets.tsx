import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Schemas } from "@/api/client";
import { secrets } from "@/api/queries/admin";
import { projects } from "@/api/queries/catalog";
import { secretTexts as t } from "@/catalogTexts";
import { buttonClass } from "@/components/Button";
import { Top, useTitle } from "@/components/Shell";
import { EmptyState, ErrorState, Skeletons } from "@/components/States";
import { Time } from "@/components/Time";
import { Gone } from "../admin/Gone";
import { type Column, type ListFilter, Listing, OpenLink } from "../admin/Listing";
import { useMayAdmin } from "../admin/may";
import { useListSearch, useOpened } from "../admin/useOpened";
import { NotFound } from "../shell/Problems";
import { SecretSheet } from "./SecretSheet";

type Secret = Schemas["Secret"];

const kind = (one: Secret) => (one.generated ? "generated" : "typed");

const columns: Column<Secret>[] = [
  {
    head: t.columns.name,
    cell: (one) => (
      <OpenLink name={one.name}>
        <span className="mono">{one.name}</span>
      </OpenLink>
    ),
  },
  { head: t.columns.kind, cell: (one) => <span className="t2">{t.kinds[kind(one)]}</span> },
  { head: t.columns.version, cell: (one) => `v${one.version}` },
  { head: t.columns.changed, cell: (one) => <Time at={one.updated_at} className="t2" /> },
  {
    head: t.columns.used,
    cell: (one) =>
      one.last_used_at ? (
        <Time at={one.last_used_at} className="t2" />
      ) : (
        <span className="t2">{t.neverUsed}</span>
      ),
  },
];

const filters: ListFilter<Secret>[] = [
  {
    key: "kind",
    label: t.columns.kind,
    any: t.anyKind,
    of: kind,
    say: (value) => t.kinds[value] ?? value,
  },
];

const text = (one: Secret) => one.name;
const key = (one: Secret) => one.name;

/** Values that can be set and used, and never read. Which project is in the address. */
export function Secrets() {
  useTitle(t.title);
  const reason = useMayAdmin();
  const all = useQuery({ ...projects, enabled: !reason });
  const [search] = useListSearch();
  if (reason) return <NotFound />;
  const project = String(search.project ?? all.data?.[0]?.name ?? "");
  if (project) return <OfProject key={project} project={project} all={all.data ?? []} />;
  return (
    <>
      <Top>
        <h1>{t.title}</h1>
      </Top>
      <div className="body">
        {all.isPending ? <Skeletons count={6} /> : null}
        {all.isError ? (
          <ErrorState what={t.unread} error={all.error} retry={() => void all.refetch()} />
        ) : null}
        {all.isSuccess ? (
          <EmptyState
            title={t.noProjectTitle}
            act={
              <Link to="/projects" className={buttonClass()}>
                {t.toProjects}
              </Link>
            }
          >
            {t.noProject}
          </EmptyState>
        ) : null}
      </div>
    </>
  );
}

function OfProject({ project, all }: { project: string; all: { name: string }[] }) {
  const query = useQuery(secrets(project));
  const [, set] = useListSearch();
  const { opened, adding, add, close } = useOpened();
  const taken = query.data?.map(key) ?? [];
  const found = query.data?.find((one) => one.name === opened);
  const names = new Set([...all.map((one) => one.name), project]);
  const bar = (
    <select
      className="btn"
      aria-label={t.project}
      value={project}
      onChange={(event) => set({ project: event.target.value, open: undefined, q: undefined })}
    >
      {[...names].sort().map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
  return (
    <Listing
      title={t.title}
      query={query}
      rowKey={key}
      columns={columns}
      text={text}
      filters={filters}
      unread={t.unread}
      emptyTitle={t.emptyTitle(project)}
      empty={t.empty}
      bar={bar}
      add={{ label: t.add, run: add }}
    >
      {adding ? <SecretSheet project={project} taken={taken} close={close} /> : null}
      {found ? (
        <SecretSheet
          key={found.name}
          project={project}
          stored={found}
          taken={taken}
          close={close}
        />
      ) : null}
      {opened && query.data && !found ? <Gone name={opened} close={close} /> : null}
    </Listing>
  );
}
