import type { Deployment } from "@/api/client";
import { Button } from "@/components/Button";
import { Confirm } from "@/components/Overlay";
import { describeCancel } from "@/pages/deployment/endingTexts";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { deployTexts } from "@/pages/deployTexts";
import { texts } from "@/texts";
import { RemovalEffects } from "../deployment/RemovalEffects";
import { Interrupts } from "../deployment/WhoIsHere";
import { nameOf } from "./useBulk";

const t = pageTexts;

type Props = {
  on?: Deployment[];
  busy: boolean;
  keep: () => void;
  remove: (on: Deployment[]) => void;
};

/** Says what stops and is erased, which deployments have ended already, and what stays. */
export function RemoveQuestion({ on, busy, keep, remove }: Props) {
  if (!on) return null;
  const stops = on.every(isMade);
  const acts = (
    <>
      <Button onClick={keep}>{texts.keep}</Button>
      <Button look="danger" busy={busy && t.removing} onClick={() => remove(on)}>
        {stops ? t.cancelYes : t.remove}
      </Button>
    </>
  );
  const title = stops ? t.cancelTitle(nameOf(on)) : t.removeTitle(nameOf(on));
  return (
    <Confirm open onClose={keep} title={title} acts={acts}>
      {on.length === 1 && on[0] ? <OfOne one={on[0]} /> : <OfSeveral on={on} />}
      <Interrupts on={on} />
      <Offline on={on} />
      {stops ? null : <p>{t.removeStays}</p>}
    </Confirm>
  );
}

/** What is deleted while it is made is stopped and undone. */
const isMade = ({ status }: Deployment) => status === "queued" || status === "applying";

/** As its own page says it. */
function OfOne({ one }: { one: Deployment }) {
  return isMade(one) ? <p>{describeCancel(one, [])}</p> : <RemovalEffects deployment={one} />;
}

/** What happens differs by state, so each is counted by itself. */
function OfSeveral({ on }: { on: Deployment[] }) {
  const made = on.filter(isMade);
  const failed = on.filter(({ status }) => status === "failed");
  const run = on.filter((one) => !isMade(one) && one.status !== "failed");
  const services = run.flatMap((one) => one.services);
  const urls = services.filter((one) => one.url).length;
  return (
    <>
      <p>{on.map((one) => one.name).join(", ")}</p>
      {run.length > 0 ? <p>{t.removeBody(services.length, urls)}</p> : null}
      {failed.length > 0 ? <p>{deployTexts.rows.failed(failed.length)}</p> : null}
      {made.length > 0 ? <p>{deployTexts.rows.stops(made.length)}</p> : null}
    </>
  );
}

function Offline({ on }: { on: Deployment[] }) {
  const nodes = on.flatMap((one) => (one.node_offline_since && one.node ? [one.node] : []));
  return [...new Set(nodes)].map((node) => <p key={node}>{t.removeOffline(node)}</p>);
}
