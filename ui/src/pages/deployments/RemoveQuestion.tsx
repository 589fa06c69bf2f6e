import type { Deployment } from "@/api/client";
import { Button } from "@/components/Button";
import { Confirm } from "@/components/Overlay";
import { deployTexts } from "@/deployTexts";
import { texts } from "@/texts";
import { nameOf } from "./useBulk";

const t = texts.page;

type Props = {
  on?: Deployment[];
  busy: boolean;
  keep: () => void;
  remove: (on: Deployment[]) => void;
};

/** Says what stops and is erased, and what stays. */
export function RemoveQuestion({ on, busy, keep, remove }: Props) {
  if (!on) return null;
  const made = on.filter((one) => ["queued", "applying"].includes(one.status));
  const stops = made.length === on.length;
  const acts = (
    <>
      <Button onClick={keep}>{texts.keep}</Button>
      <Button look="danger" busy={busy && t.removing} onClick={() => remove(on)}>
        {stops ? t.cancelYes : t.remove}
      </Button>
    </>
  );
  const title = stops ? t.cancelTitle(nameOf(on)) : t.removeTitle(nameOf(on));
  const services = on.flatMap((one) => (made.includes(one) ? [] : one.services));
  return (
    <Confirm open onClose={keep} title={title} acts={acts}>
      {on.length > 1 ? <p>{on.map((one) => one.name).join(", ")}</p> : null}
      {stops ? null : (
        <p>{t.removeBody(services.length, services.filter((one) => one.url).length)}</p>
      )}
      {made.length > 0 ? <p>{deployTexts.rows.stops(made.length)}</p> : null}
      <Offline on={on} />
      <p>{t.removeStays}</p>
    </Confirm>
  );
}

function Offline({ on }: { on: Deployment[] }) {
  const nodes = on.flatMap((one) => (one.node_offline_since && one.node ? [one.node] : []));
  return [...new Set(nodes)].map((node) => <p key={node}>{t.removeOffline(node)}</p>);
}
