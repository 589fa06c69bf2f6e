import type { JSX } from "react";

const line = { fill: "none", stroke: "currentColor", strokeWidth: 1.6 } as const;
const round = { ...line, strokeLinecap: "round", strokeLinejoin: "round" } as const;
const ring = <circle cx="8" cy="8" r="6" {...line} />;
const arrowBack = (width: number) => (
  <>
    <path d="M3.1 5.2A5.8 5.8 0 1 1 2.2 8.4" {...round} strokeWidth={width} />
    <path d="M2.6 1.9v3.7h3.7" {...round} strokeWidth={width} />
  </>
);

/* All round glyphs derive from the mark, ∅. Filled shapes are results, open ones are on the way. */
const shapes = {
  queued: <circle cx="8" cy="8" r="5.6" {...line} strokeWidth={1.7} strokeDasharray="2.2 2.2" />,
  ready: (
    <path
      fillRule="evenodd"
      fill="currentColor"
      d="M8 1.2a6.8 6.8 0 1 0 0 13.6A6.8 6.8 0 0 0 8 1.2Zm3.5 5.1a.85.85 0 0 0-1.3-1.1L7.1 8.9 5.7 7.5a.85.85 0 1 0-1.2 1.2l2.1 2.1a.85.85 0 0 0 1.25-.06Z"
    />
  ),
  undoing: arrowBack(1.7),
  undone: (
    <>
      {arrowBack(1.5)}
      <path d="M5.6 8.4l1.6 1.6 3-3.4" {...round} strokeWidth={1.5} />
    </>
  ),
  failed: (
    <path
      fillRule="evenodd"
      fill="currentColor"
      d="M5.2 1.3h5.6l3.9 3.9v5.6l-3.9 3.9H5.2l-3.9-3.9V5.2Zm.9 3.6a.85.85 0 0 0-1.2 1.2L6.8 8l-1.9 1.9a.85.85 0 0 0 1.2 1.2L8 9.2l1.9 1.9a.85.85 0 0 0 1.2-1.2L9.2 8l1.9-1.9a.85.85 0 0 0-1.2-1.2L8 6.8Z"
    />
  ),
  removing: (
    <>
      <circle cx="8" cy="8" r="6" {...line} strokeDasharray="28 9.7" strokeDashoffset={-4.6} />
      <path d="M5 8h6" {...round} strokeWidth={1.8} />
    </>
  ),
  removed: (
    <>
      <circle cx="8" cy="8" r="5.4" {...line} />
      <path d="M2.6 13.4 13.4 2.6" {...round} />
    </>
  ),
  canceled: (
    <>
      {ring}
      <path d="M5.8 5.8l4.4 4.4m0-4.4-4.4 4.4" {...round} />
    </>
  ),
  stuck: (
    <path
      fillRule="evenodd"
      fill="currentColor"
      d="M8.9 1.7a1.05 1.05 0 0 0-1.8 0L.9 12.5a1.05 1.05 0 0 0 .9 1.6h12.4a1.05 1.05 0 0 0 .9-1.6ZM8 5.2c.5 0 .9.4.9.9v2.7a.9.9 0 0 1-1.8 0V6.1c0-.5.4-.9.9-.9Zm0 5.5a1 1 0 1 1 0 2 1 1 0 0 1 0-2Z"
    />
  ),
  offline: (
    <>
      <path
        d="M5.6 2.7a5.8 5.8 0 0 1 7.7 7.7M10.4 13.3a5.8 5.8 0 0 1-7.7-7.7"
        {...round}
        strokeWidth={1.7}
      />
      <path d="M2 2l12 12" {...round} strokeWidth={1.7} />
    </>
  ),
  warn: (
    <>
      <path d="M8 2.2 14.4 13.3H1.6Z" {...round} />
      <path d="M8 6.2v3.1" {...round} />
      <circle cx="8" cy="11.3" r=".95" fill="currentColor" />
    </>
  ),
  pending: <circle cx="8" cy="8" r="4.6" {...line} />,
  waiting: (
    <>
      <path d="M8 1.6 14.4 8 8 14.4 1.6 8Z" {...round} />
      <path d="M6.6 6.5a1.5 1.5 0 1 1 2.1 1.4c-.5.2-.7.5-.7.9" {...round} strokeWidth={1.4} />
      <circle cx="8" cy="10.8" r=".8" fill="currentColor" />
    </>
  ),
  pulling: (
    <>
      <circle cx="8" cy="8" r="6" {...line} strokeDasharray="1.6 2.17" />
      <path d="M8 4.8v5.4M5.6 8 8 10.4 10.4 8" {...round} strokeWidth={1.7} />
    </>
  ),
  skipped: (
    <>
      {ring}
      <path d="M5.6 10.4l4.8-4.8" {...round} />
    </>
  ),
  unknown: (
    <>
      {ring}
      <path d="M6.3 6.3a1.8 1.8 0 1 1 2.6 1.6c-.6.3-.9.6-.9 1.2" {...round} strokeWidth={1.5} />
      <circle cx="8" cy="11.2" r=".9" fill="currentColor" />
    </>
  ),
} satisfies Record<string, JSX.Element>;

export type GlyphName = keyof typeof shapes | "applying";

/* States that share a shape with another. */
const same: Record<string, GlyphName> = {
  running: "applying",
  done: "ready",
  untrusted: "stuck",
  incompatible: "failed",
  disabled: "canceled",
  enrolled: "queued",
  online: "ready",
  forgotten: "removed",
};

type Props = { state: string; size?: "sm" | "lg"; share?: number };

/** A state's shape. It is decoration: the word stands beside it, or the container carries a name. */
export function Glyph({ state, size, share }: Props) {
  const name = same[state] ?? state;
  return (
    <svg className={`g ${size ?? ""}`} viewBox="0 0 16 16" aria-hidden="true">
      {name === "applying" ? (
        <Pie share={share ?? 0.75} />
      ) : (
        (shapes[name as keyof typeof shapes] ?? shapes.unknown)
      )}
    </svg>
  );
}

/** The ring with a pie: the pie is the share of steps done. */
function Pie({ share }: { share: number }) {
  const part = Math.min(0.999, Math.max(0.06, share));
  const angle = part * 2 * Math.PI;
  const [x, y] = [8 + 3.6 * Math.sin(angle), 8 - 3.6 * Math.cos(angle)];
  return (
    <>
      {ring}
      <path
        d={`M8 8V4.4A3.6 3.6 0 ${part > 0.5 ? 1 : 0} 1 ${x.toFixed(2)} ${y.toFixed(2)}Z`}
        fill="currentColor"
      />
    </>
  );
}

/** The product's mark: nothing left behind. */
export function Mark() {
  return (
    <svg viewBox="0 0 24 24" aria-hidden="true">
      <circle cx="12" cy="12" r="7.2" {...line} strokeWidth={2.9} />
      <path d="M3.6 20.4 20.4 3.6" {...round} strokeWidth={2.9} />
    </svg>
  );
}
