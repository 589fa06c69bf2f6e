import type { NodeInfo } from "@/api/client";
import { Button } from "@/components/Button";
import { Rail, StatusMark } from "@/components/Status";
import { Time } from "@/components/Time";
import { formatExact } from "@/components/time";
import { nodeTexts } from "@/nodeTexts";
import { Staying, useStaying } from "@/pages/nodes/Staying";
import { DrainAct } from "./DrainAct";

const t = nodeTexts;

/** How far the emptying of a node is, and what keeps it from being empty. */
export function DrainBox({ node, end }: { node: NodeInfo; end: () => void }) {
  const query = useStaying(node.name);
  const drain = node.drain;
  if (!drain) return null;
  return (
    <section className="card mx-4 mt-1" data-st={drain.status} aria-label={t.drainOf(node.name)}>
      <Rail state={drain.status} />
      <h2 className="row">
        <StatusMark state={drain.status} />
        <span className="t2">{t.drainBy(drain.by)}</span>
        <Time at={drain.since} className="t3 s" />
      </h2>
      <p className="t2 max-w-[72ch]">{t.drainSays[drain.status]}</p>
      {drain.deadline ? (
        <p className="t2">
          {t.drainDeadline} <time dateTime={drain.deadline}>{formatExact(drain.deadline)}</time>
        </p>
      ) : null}
      <Staying query={query} />
      <div className="row">
        <Button act={t.undrain} onClick={end}>
          {t.undrain}
        </Button>
        <DrainAct node={node} />
      </div>
    </section>
  );
}
