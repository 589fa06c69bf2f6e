import type { Schemas } from "@/api/client";
import { galleryTexts as t } from "@/pages/components/galleryTexts";
import "../people/access.css";
import { Entries } from "../audit/Entries";
import { Matrix } from "../people/Matrix";
import { Acted, look } from "./Acted";
import { before } from "./examples";
import { Part } from "./Part";

const nothing = () => {};

const teams: Schemas["Team"][] = [
  {
    name: "qa-guild",
    members: ["aiko-tanaka", "lena-hoffmann"],
    grants: [
      { project: "shop", level: "full" },
      { environment: "qa-eu", level: "read" },
    ],
  },
  { name: "payments", members: [], grants: [{ project: "shop", level: "read" }] },
];

/** Who may what: full, read, nothing; a place that is apart; with the focus. */
export function Cells() {
  return (
    <Part title={t.sections.access}>
      <Acted className="framed" act={look(".cell", "focus")}>
        <Matrix
          teams={teams}
          columns={[{ project: "shop" }, { environment: "qa-eu", restricted: true }]}
          change={nothing}
          give={nothing}
        />
      </Acted>
    </Part>
  );
}

const entry = (id: string, more: Partial<Schemas["AuditEntry"]>): Schemas["AuditEntry"] => ({
  id,
  seq: 18_204,
  at: before(140),
  actor: "jonas-lindqvist",
  action: "create deployment",
  object: "qa-eu/cart-redesign",
  result: "ok",
  from: "10.8.0.21",
  ...more,
});

const entries = [
  entry("1", {}),
  entry("2", { actor: "priya-raman", result: "refused", detail: t.examples.noGrant }),
  entry("3", { actor: "agent:fra-02", result: "failed", request_id: "01937c1e-8a40" }),
];

/** A line of the audit: done, refused, failed and opened. */
export function AuditLines() {
  return (
    <Part title={t.sections.audit}>
      <div className="framed overflow-x-auto">
        <div className="min-w-240">
          <Entries entries={entries} admin open="3" setOpen={nothing} />
        </div>
      </div>
    </Part>
  );
}
