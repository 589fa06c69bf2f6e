import { useQuery } from "@tanstack/react-query";
import { client, type Schemas } from "@/api/client";
import { plugins } from "@/api/queries/admin";
import { LoadStored } from "@/forms/LoadStored";
import { Listing } from "@/lists/Listing";
import type { Column, ListFilter } from "@/lists/listProps";
import { OpenLink } from "@/lists/OpenLink";
import { useOpenSheet } from "@/lists/useOpenSheet";
import { pluginTexts as t } from "@/pages/catalogTexts";
import { useReasonNotAdmin } from "../shell/usePermissionReason";
import { PluginSheet } from "./PluginSheet";
import { fieldTitles } from "./schema";

type Plugin = Schemas["Plugin"];

const parameterNames = (one: Plugin) => fieldTitles(one.component.parameters).join(", ");

const columns: Column<Plugin>[] = [
  {
    head: t.columns.name,
    cell: (one) => (
      <span className="whitespace-nowrap">
        <OpenLink name={one.name} />
      </span>
    ),
  },
  { head: t.columns.does, cell: (one) => <span className="t2">{one.component.description}</span> },
  {
    head: t.columns.image,
    wide: true,
    cell: (one) => (
      <span className="col items-start" title={one.digest}>
        <span className="mono whitespace-nowrap">
          {one.image}:{one.tag}
        </span>
        <span className="mono t2">{one.registry_host}</span>
      </span>
    ),
  },
  {
    head: t.columns.takes,
    wide: true,
    cell: (one) => <span className="t2">{parameterNames(one) || "–"}</span>,
  },
  {
    head: t.columns.actions,
    cell: (one) => (
      <span className="t2 whitespace-nowrap">
        {(one.component.actions ?? ["create"]).join(", ")}
      </span>
    ),
  },
];

const filters: ListFilter<Plugin>[] = [
  { key: "registry", label: t.registry, any: t.anyRegistry, of: (one) => one.registry },
];

const text = (one: Plugin) =>
  `${one.name} ${one.registry_host}/${one.image} ${one.component.description ?? ""}`;
const key = (one: Plugin) => one.name;

/** Images that do a step of a pipeline. */
export function Plugins() {
  const query = useQuery(plugins);
  const reason = useReasonNotAdmin();
  const { opened, adding, add, close } = useOpenSheet();
  const taken = query.data?.map(key) ?? [];
  return (
    <Listing
      title={t.title}
      query={query}
      rowKey={key}
      columns={columns}
      text={text}
      filters={filters}
      unread={t.unread}
      emptyTitle={t.emptyTitle}
      empty={reason ? t.emptyRead : t.empty}
      add={{ label: t.add, run: add, reason }}
    >
      {adding && !reason ? <PluginSheet taken={taken} close={close} /> : null}
      {opened ? (
        <LoadStored
          key={opened}
          kind="plugins"
          name={opened}
          close={close}
          read={() => client.GET("/api/v1/plugins/{name}", { params: { path: { name: opened } } })}
        >
          {(read) => <PluginSheet opened={read} taken={taken} close={close} />}
        </LoadStored>
      ) : null}
    </Listing>
  );
}
