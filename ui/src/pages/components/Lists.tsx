import { useMemo } from "react";
import type { Deployment } from "@/api/client";
import { galleryTexts as t } from "@/pages/components/galleryTexts";
import { Placement } from "../create/Summary";
import { useColumns } from "../deployments/columns";
import { GroupHead, Head } from "../deployments/ListHeads";
import { MovedNotice } from "../deployments/MovedNotice";
import { NoMatch } from "../deployments/NoMatch";
import { Row } from "../deployments/Row";
import { Card } from "../urls/Card";
import { Acted, look } from "./Acted";
import { deployment, rows } from "./examples";
import { Part, Shown } from "./Part";

const nothing = () => {};
const acts = {
  onRetry: nothing,
  onCopy: nothing,
  onMark: nothing,
  onMenu: nothing,
  onFollow: (event: { preventDefault: () => void }) => event.preventDefault(),
};

/** A row of the list: each state, offline, without the access, chosen and marked; groups and no match. */
export function Rows() {
  const more: Deployment[] = useMemo(
    () => [deployment("ready", { id: "chosen" }), deployment("ready", { id: "marked" })],
    [],
  );
  const all = [...rows, ...more];
  const shown = useColumns();
  return (
    <Part title={t.sections.rows}>
      <div className="framed overflow-x-auto">
        <div role="table" aria-label={t.sections.rows} className="min-w-240" {...shown.table}>
          <Head
            sort="-changed"
            onSort={nothing}
            marked={1}
            rows={all.length}
            markAll={nothing}
            shown={shown}
          />
          <div role="rowgroup">
            <GroupHead group="attention" count={4} index={0} closed={false} toggle={nothing} />
            {all.map((one, i) => (
              <Row
                key={one.id}
                deployment={one}
                index={i}
                selected={one.id === "chosen"}
                marked={one.id === "marked"}
                starred={one.id === "chosen"}
                {...acts}
              />
            ))}
            <GroupHead group="ready" count={23} index={99} closed toggle={nothing} />
          </div>
        </div>
      </div>
      <div className="row items-start gap-7">
        <Shown name={t.rowStates.moved}>
          <div className="relative h-10 w-40">
            <MovedNotice count={3} settle={nothing} />
          </div>
        </Shown>
        <Shown name={t.rowStates.focused}>
          <Acted className="framed w-90" act={look("button", "focus")}>
            <div role="table" aria-label={t.rowStates.focused}>
              <div role="rowgroup">
                <GroupHead group="progress" count={1} index={1} closed={false} toggle={nothing} />
              </div>
            </div>
          </Acted>
        </Shown>
      </div>
      <div className="framed pb-6">
        <NoMatch filters={{ env: "qa-eu", state: "failed", q: "cart" }} clear={nothing} />
      </div>
    </Part>
  );
}

const url = "http://api.cart-redesign.qa-eu.lab.example.com";
const health = (step: string, one: "healthy" | "unhealthy" | "starting") => ({
  step,
  health: one,
  url,
  ports: [],
  restarts: 0,
});

/** A card of the page of URLs: answering, partly, offline, and without an address. */
export function Cards() {
  const all = [
    deployment("ready"),
    deployment("ready", { id: "part", services: [health("api", "unhealthy")] }),
    deployment("applying", { id: "soon", services: [health("api", "starting")] }),
    deployment("ready", {
      id: "off",
      node: "fra-02",
      condition: "offline",
      node_offline_since: "2026-11-21T12:00:00Z",
    }),
    deployment("ready", { id: "none", services: [] }),
  ];
  return (
    <Part title={t.sections.cards}>
      <ul className="col gap-3">
        {all.map((one, i) => (
          <Card key={one.id} deployment={one} at={i + 1} of={all.length} />
        ))}
      </ul>
    </Part>
  );
}

/** Why no node took it: each that was weighed. */
export function Placements() {
  const weighed = [
    { node: "fra-01", cpu_free: 6.1, memory_free: 1.9e9, reason: t.examples.short },
    { node: "fra-03", reason: t.examples.label },
  ];
  return (
    <Part title={t.sections.placement}>
      <Placement rows={weighed} />
    </Part>
  );
}
