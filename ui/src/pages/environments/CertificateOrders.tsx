import { useQuery } from "@tanstack/react-query";
import type { Schemas } from "@/api/client";
import { Refusal } from "@/components/Field";
import { Skeletons } from "@/components/States";
import { TimeAhead } from "@/components/TimeAhead";
import { orderTexts as t } from "@/pages/environments/orderTexts";
import { ReadFailed } from "../deployment/ReadFailed";
import { queryKey, Settings } from "./OrdersForm";
import { readOrders } from "./orderApi";

type Ordered = Schemas["OrderedCertificate"];

/** How an environment gets certificates from an authority, and how that goes. Saved apart from the form above it. */
export function Orders({ name, dirty }: { name: string; dirty: (yes: boolean) => void }) {
  const query = useQuery({
    queryKey: queryKey(name),
    queryFn: () => readOrders(name),
    refetchInterval: 5000,
  });
  if (query.isPending) return <Skeletons count={2} />;
  // Once loaded, a later failure must not unmount the fields that the user types in.
  if (query.data === undefined) return <ReadFailed what={t.unread} query={query} />;
  return (
    <details className="fold">
      <summary>{t.title}</summary>
      <div className="col gap-4 pt-3">
        <p className="hint">{t.what}</p>
        <ReadFailed what={t.unread} query={query} />
        {query.data.value?.certificates.map((one) => (
          <State key={one.subject} one={one} />
        ))}
        <Settings name={name} read={query.data} dirty={dirty} />
      </div>
    </details>
  );
}

function State({ one }: { one: Ordered }) {
  return (
    <div className="field">
      <span className="row">
        <span className="mono grow">{one.names.join(", ")}</span>
        <span className="t2">{t.states[one.state as keyof typeof t.states] ?? one.state}</span>
      </span>
      {one.error ? <Refusal>{one.error}</Refusal> : null}
      <span className="hint">
        {one.not_after ? (
          <>
            {t.ends} <TimeAhead at={one.not_after} />.{" "}
          </>
        ) : null}
        {one.wanted ? (
          <>
            {t.next} <TimeAhead at={one.next_try} />.
          </>
        ) : (
          t.notRenewed
        )}
      </span>
    </div>
  );
}
