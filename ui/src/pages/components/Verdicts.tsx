import { type ComponentProps, useState } from "react";
import { galleryTexts as t } from "@/pages/components/galleryTexts";
import { Preflight } from "../create/Preflight";
import { Checks, type NodeCheck } from "../nodes/Checks";
import { refusal } from "./examples";
import { Part, Shown } from "./Part";

type Judged = ComponentProps<typeof Preflight>["checks"];
type Query = Partial<Judged["query"]>;

/** What the hook gives, without asking anybody. */
const judged = (query: Query | object, more: Partial<Judged> = {}): Judged =>
  ({
    query: { dataUpdatedAt: Date.now() - 4000, refetch: async () => {}, ...query },
    complete: true,
    fresh: true,
    stops: [],
    ...more,
  }) as unknown as Judged;

const passes = [
  { id: "access", state: "ok" as const, message: t.examples.mayCreate },
  { id: "tag", state: "ok" as const, message: t.examples.tagThere },
];
const full = {
  ok: false,
  versions: [],
  checks: [
    {
      id: "capacity",
      state: "failed" as const,
      message: t.examples.noRoom,
      remedy: t.examples.wait,
    },
    { id: "tag", state: "unknown" as const, message: t.examples.registryDown },
    ...passes,
  ],
  nodes: [{ node: "fra-01", fits: false, cpu_free: 6.1, memory_free: 1.9e9 }],
};

/** Checks before something is made: passed, refused, under way, unread, and nothing to check yet. */
export function Preflights() {
  const [waits, setWait] = useState(true);
  const common = { waits: false, setWait, open: [], placed: false };
  const refused = full.checks.filter((check) => check.state === "failed") as ComponentProps<
    typeof Preflight
  >["open"];
  const good = { ...full, ok: true, checks: passes, nodes: [] };
  return (
    <Part title={t.sections.preflight}>
      <Shown name={t.verdicts.passed}>
        <Preflight project="shop" {...common} checks={judged({ data: good })} />
      </Shown>
      <Shown name={t.verdicts.refused}>
        <Preflight
          project="shop"
          {...common}
          checks={judged({ data: full })}
          open={refused}
          waits={waits}
        />
      </Shown>
      <Shown name={t.verdicts.checking}>
        <Preflight project="shop" {...common} checks={judged({ data: good }, { fresh: false })} />
      </Shown>
      <Shown name={t.verdicts.unread}>
        <Preflight project="shop" {...common} checks={judged({ isError: true, error: refusal })} />
      </Shown>
      <Shown name={t.verdicts.incomplete}>
        <Preflight project="shop" {...common} checks={judged({}, { complete: false })} />
      </Shown>
    </Part>
  );
}

const found: NodeCheck[] = [
  { id: "isolation", severity: "critical", detail: t.examples.reach, remedy: t.examples.restart },
  { id: "live-restore", severity: "warning", detail: t.examples.off, remedy: t.examples.switchOn },
  { id: "forward-policy", severity: "unknown", detail: t.examples.unread },
  { id: "disk", severity: "ok", detail: t.examples.disk },
];

/** Checks of a node: each severity, and all passed. */
export function NodeChecks() {
  return (
    <Part title={t.sections.checks}>
      <Checks checks={found} />
      <Checks checks={found.slice(3)} />
    </Part>
  );
}
