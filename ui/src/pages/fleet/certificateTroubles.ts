import type { Schemas } from "@/api/client";
import { formatAgo, formatDuration } from "@/components/time";
import { fleetTexts as t } from "@/pages/fleet/fleetTexts";
import type { Trouble } from "./trouble";

// What of certificates and keys needs a person.

/** A certificate that ends within this is to be replaced. */
export const SOON = 21 * 86_400_000;

/** What is ordered for one environment. */
export type Ordered = { environment: string; certificates: Schemas["OrderedCertificate"][] };

export function certificateTroubles(all: Schemas["Certificate"][], now: number): Trouble[] {
  return all.flatMap(({ name, not_after, hosts }) => {
    const left = Date.parse(not_after) - now;
    if (left >= SOON) return [];
    const what =
      left < 0 ? t.ranOut(name, formatAgo(not_after, now)) : t.runsOut(name, formatDuration(left));
    return [
      {
        id: `certificate ${name}`,
        state: left < 0 ? "failed" : "warn",
        what,
        remedy: t.certificateRemedy(hosts.join(", ")),
        where: { page: "certificates" },
      },
    ];
  });
}

/**
 * A failing order of a certificate that is still valid is retried in time; an expired one breaks
 * HTTPS.
 */
export function orderTroubles(all: Ordered[], now: number): Trouble[] {
  return all.flatMap(({ environment, certificates }) =>
    certificates.filter(needsAttention).map(({ subject, names, not_after, error }) => ({
      id: `order ${environment} ${subject}`,
      state: not_after && Date.parse(not_after) > now ? "warn" : "failed",
      what: t.order(names.join(", ")),
      remedy: error ?? t.orderRemedy,
      where: { environment },
    })),
  );
}

const needsAttention = ({ wanted, state }: Schemas["OrderedCertificate"]) =>
  wanted && (state === "failing" || state === "expired");

export function keyTroubles(all: Schemas["MasterKey"][]): Trouble[] {
  return all
    .filter(({ present, values }) => !present && values > 0)
    .map(({ name, values }) => ({
      id: `key ${name}`,
      state: "failed",
      what: t.key(name, values),
      remedy: t.keyRemedy,
      where: { page: "keys" },
    }));
}
