import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { client, type Schemas } from "@/api/client";
import { plugins, registries, services } from "@/api/queries/admin";
import { BidiSafe } from "@/components/BidiSafe";
import { LoadStored } from "@/forms/LoadStored";
import { Listing } from "@/lists/Listing";
import type { Column, ListFilter } from "@/lists/listProps";
import { OpenLink } from "@/lists/OpenLink";
import { useListSearch, useOpenSheet } from "@/lists/useOpenSheet";
import { registryTexts as t } from "@/pages/catalogTexts";
import { useReasonNotAdmin } from "../shell/usePermissionReason";
import { RegistrySheet } from "./RegistrySheet";

type Registry = Schemas["Registry"];

const transport = (one: Registry) => (one.insecure ? "plain" : "tls");

const filters: ListFilter<Registry>[] = [
  {
    key: "transport",
    label: t.columns.transport,
    any: t.anyTransport,
    of: transport,
    say: (value) => (value === "plain" ? t.plain : t.tls),
  },
];

const columns = (used: (name: string) => string): Column<Registry>[] => [
  {
    head: t.columns.name,
    cell: (one) => (
      <span className="row">
        <OpenLink name={one.name} />
        {one.builtin ? <span className="chip">{t.builtin}</span> : null}
        <span className="t2 s tr">
          <BidiSafe text={one.description ?? ""} />
        </span>
      </span>
    ),
  },
  { head: t.columns.host, cell: (one) => <span className="mono">{one.host}</span> },
  {
    head: t.columns.user,
    cell: (one) =>
      one.username ? (
        <span>
          {one.username}
          {one.has_password ? null : <span className="t2 s ml-2">{t.noPassword}</span>}
        </span>
      ) : (
        <span className="t2">{t.anonymous}</span>
      ),
  },
  {
    head: t.columns.transport,
    wide: true,
    cell: (one) => <span className="t2">{one.insecure ? t.plain : t.tls}</span>,
  },
  { head: t.columns.services, cell: (one) => <span className="t2">{used(one.name)}</span> },
];

const text = (one: Registry) => `${one.name} ${one.host} ${one.description ?? ""}`;
const key = (one: Registry) => one.name;

/** How many services and plugins come from each registry, in words; what is not read is not counted as none. */
function useUsed(): (name: string) => string {
  const of = useQuery(services).data;
  const and = useQuery(plugins).data;
  return useMemo(() => {
    const count = (list: { registry: string }[], name: string) =>
      list.filter((one) => one.registry === name).length;
    return (name: string) =>
      of && and ? t.usedBy(count(of, name), count(and, name)) : t.uncounted;
  }, [of, and]);
}

/** Where images come from. */
export function Registries() {
  const query = useQuery(registries);
  const reason = useReasonNotAdmin();
  const used = useUsed();
  const { opened, adding, add, close } = useOpenSheet();
  const [, set] = useListSearch();
  const [fresh, setFresh] = useState<string>();
  const leave = () => {
    setFresh(undefined);
    close();
  };
  const made = (name: string) => {
    setFresh(name);
    set({ open: name, add: undefined });
  };
  const taken = query.data?.map(key) ?? [];
  return (
    <Listing
      title={t.title}
      query={query}
      rowKey={key}
      columns={columns(used)}
      text={text}
      filters={filters}
      unread={t.unread}
      emptyTitle={t.emptyTitle}
      empty={reason ? t.emptyRead : t.empty}
      add={{ label: t.add, run: add, reason }}
    >
      {adding && !reason ? <RegistrySheet taken={taken} close={close} made={made} used="" /> : null}
      {opened ? (
        <LoadStored
          key={opened}
          kind="registries"
          name={opened}
          close={close}
          read={() =>
            client.GET("/api/v1/registries/{name}", { params: { path: { name: opened } } })
          }
        >
          {(read) => (
            <RegistrySheet
              opened={read}
              taken={taken}
              used={used(opened)}
              fresh={opened === fresh}
              close={leave}
            />
          )}
        </LoadStored>
      ) : null}
    </Listing>
  );
}
