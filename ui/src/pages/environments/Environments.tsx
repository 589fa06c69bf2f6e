import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Lock } from "lucide-react";
import { client, type Schemas } from "@/api/client";
import { environments } from "@/api/queries/catalog";
import { BidiSafe } from "@/components/BidiSafe";
import { LoadStored } from "@/forms/LoadStored";
import { Listing } from "@/lists/Listing";
import type { Column, ListFilter } from "@/lists/listProps";
import { OpenLink } from "@/lists/OpenLink";
import { useOpenSheet } from "@/lists/useOpenSheet";
import { environmentTexts as t } from "@/pages/environments/environmentTexts";
import { useReasonNotAdmin } from "../shell/usePermissionReason";
import { EnvironmentSheet } from "./EnvironmentSheet";

type Environment = Schemas["Environment"];

/** Nodes are for admins; to others their count is a number. */
const columns = (admin: boolean): Column<Environment>[] => [
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
  { head: t.columns.domain, cell: (one) => <span className="mono">{one.url_suffix}</span> },
  {
    head: t.columns.nodes,
    cell: (one) => <Nodes of={one} link={admin} />,
  },
  {
    head: t.columns.cleanup,
    wide: true,
    cell: (one) => (
      <span className="t2">
        {one.cleanup_after_hours ? t.cleanup(one.cleanup_after_hours) : t.keeps}
      </span>
    ),
  },
  {
    head: t.columns.access,
    cell: (one) =>
      one.restricted ? (
        <span className="row">
          <Lock className="i sm t3" aria-hidden="true" />
          {t.restricted}
        </span>
      ) : (
        <span className="t2">{t.open}</span>
      ),
  },
];

function Nodes({ of: { name, nodes, nodes_online: online }, link }: NodesProps) {
  if (nodes === 0) return t.noNodes;
  if (!link) return t.nodes(online, nodes);
  return (
    <Link className="hover:underline" to="/nodes" search={{ env: name }}>
      {t.nodes(online, nodes)}
    </Link>
  );
}

type NodesProps = { of: Environment; link: boolean };

const [readColumns, adminColumns] = [columns(false), columns(true)];

const filters: ListFilter<Environment>[] = [
  {
    key: "access",
    label: t.columns.access,
    any: t.anyAccess,
    of: (one) => (one.restricted ? "restricted" : "open"),
    say: (value) => (value === "restricted" ? t.restricted : t.open),
  },
];

const text = (one: Environment) => `${one.name} ${one.url_suffix} ${one.description ?? ""}`;
const key = (one: Environment) => one.name;

/** Where deployments live: domain, nodes, clean-up, who may. */
export function Environments() {
  const query = useQuery(environments);
  const reason = useReasonNotAdmin();
  const { opened, adding, add, close } = useOpenSheet();
  const taken = query.data?.map(key) ?? [];
  return (
    <Listing
      title={t.title}
      query={query}
      rowKey={key}
      columns={reason ? readColumns : adminColumns}
      text={text}
      filters={filters}
      unread={t.unread}
      emptyTitle={t.emptyTitle}
      empty={reason ? t.emptyRead : t.empty}
      add={{ label: t.add, run: add, reason }}
    >
      {adding && !reason ? <EnvironmentSheet taken={taken} close={close} /> : null}
      {opened ? (
        <LoadStored
          key={opened}
          kind="environments"
          name={opened}
          close={close}
          read={() =>
            client.GET("/api/v1/environments/{name}", { params: { path: { name: opened } } })
          }
        >
          {(read) => <EnvironmentSheet opened={read} taken={taken} close={close} />}
        </LoadStored>
      ) : null}
    </Listing>
  );
}
