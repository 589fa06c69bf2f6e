import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { client, type Schemas } from "@/api/client";
import { services } from "@/api/queries/admin";
import { BidiSafe } from "@/components/BidiSafe";
import { Button } from "@/components/Button";
import { loadChunk } from "@/components/loadChunk";
import { LoadStored } from "@/forms/LoadStored";
import { Listing } from "@/lists/Listing";
import type { Column, ListFilter } from "@/lists/listProps";
import { OpenLink } from "@/lists/OpenLink";
import { useOpenSheet, useSheet } from "@/lists/useOpenSheet";
import { serviceTexts as t } from "@/pages/catalogTexts";
import { useReasonNotAdmin } from "../shell/usePermissionReason";
import { ServiceSheet } from "./ServiceSheet";

type Service = Schemas["Service"];

const StarterSheet = lazy(() =>
  loadChunk(() => import("./StarterSheet")).then((one) => ({ default: one.StarterSheet })),
);

const columns: Column<Service>[] = [
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
    head: t.columns.image,
    cell: (one) => (
      <span className="mono">
        {one.registry_host}/{one.image}
      </span>
    ),
  },
  {
    head: t.columns.tags,
    cell: (one) =>
      one.tag_mode === "pinned" ? (
        <span className="t2">{t.modes.pinned}</span>
      ) : one.pattern ? (
        <span className="mono">{one.pattern}</span>
      ) : (
        t.everyTag
      ),
  },
  {
    head: t.columns.default,
    wide: true,
    cell: (one) => (one.tag ? <span className="chip mono">{one.tag}</span> : "–"),
  },
];

const filters: ListFilter<Service>[] = [
  { key: "registry", label: t.registry, any: t.anyRegistry, of: (one) => one.registry },
  {
    key: "mode",
    label: t.mode,
    any: t.anyMode,
    of: (one) => one.tag_mode,
    say: (value) => t.modes[value as Service["tag_mode"]] ?? value,
  },
];

const text = (one: Service) =>
  `${one.name} ${one.registry_host}/${one.image} ${one.tag ?? ""} ${one.description ?? ""}`;
const key = (one: Service) => one.name;

/** What people deploy, and which tags they may choose. */
export function Services() {
  const query = useQuery(services);
  const reason = useReasonNotAdmin();
  const { opened, adding, add, close } = useOpenSheet();
  const starter = useSheet("catalogue");
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
      empty={reason ? t.emptyRead : <Empty pick={starter.show} />}
      bar={
        <Button reason={reason} onClick={starter.show}>
          {t.fromCatalogue}
        </Button>
      }
      add={{ label: t.add, run: add, reason }}
    >
      {starter.shown && !reason ? (
        <Suspense fallback={null}>
          <StarterSheet taken={taken} close={starter.hide} />
        </Suspense>
      ) : null}
      {adding && !reason ? <ServiceSheet taken={taken} close={close} /> : null}
      {opened ? (
        <LoadStored
          key={opened}
          kind="services"
          name={opened}
          close={close}
          read={() => client.GET("/api/v1/services/{name}", { params: { path: { name: opened } } })}
        >
          {(read) => <ServiceSheet opened={read} taken={taken} close={close} />}
        </LoadStored>
      ) : null}
    </Listing>
  );
}

/** Offers the starter catalogue where there is nothing yet. */
function Empty({ pick }: { pick: () => void }) {
  return (
    <div className="col gap-3">
      <p>{t.empty}</p>
      <p>{t.emptyOffer}</p>
      <Button onClick={pick}>{t.pickFromCatalogue}</Button>
    </div>
  );
}
