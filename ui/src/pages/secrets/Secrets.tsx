import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { Schemas } from "@/api/client";
import { secrets } from "@/api/queries/admin";
import { Time } from "@/components/Time";
import { MissingEntry } from "@/forms/MissingEntry";
import { Listing } from "@/lists/Listing";
import type { Column, ListFilter } from "@/lists/listProps";
import { OpenLink } from "@/lists/OpenLink";
import { useOpenSheet } from "@/lists/useOpenSheet";
import { secretTexts as t } from "@/pages/catalogTexts";
import { ByProject } from "../projects/ByProject";
import { NotFound } from "../shell/ErrorPages";
import { useReasonNotAdmin } from "../shell/usePermissionReason";
import { SecretSheet } from "./SecretSheet";

type Secret = Schemas["Secret"];

const kind = (one: Secret) => {
  if (one.vault) return "vault";
  return one.generated ? "generated" : "typed";
};

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
  if (useReasonNotAdmin()) return <NotFound />;
  return (
    <ByProject texts={t}>
      {(project, pick) => <OfProject key={project} project={project} pick={pick} />}
    </ByProject>
  );
}

function OfProject({ project, pick }: { project: string; pick: ReactNode }) {
  const query = useQuery(secrets(project));
  const { opened, adding, add, close } = useOpenSheet();
  const taken = query.data?.map(key) ?? [];
  const found = query.data?.find((one) => one.name === opened);
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
      bar={pick}
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
      {opened && query.data && !found ? <MissingEntry name={opened} close={close} /> : null}
    </Listing>
  );
}
