import type { ReactNode } from "react";
import { texts } from "@/texts";
import { Glyph } from "./Glyph";

const words: Record<string, string> = texts.states;

/** The display name of a state. */
export function stateWord(state: string): string {
  return words[state] ?? state;
}

/* Colours and lines of states that look like another one. */
const looks: Record<string, string> = {
  untrusted: "stuck",
  incompatible: "failed",
  disabled: "offline",
  enrolled: "queued",
  draining: "removing",
  overdue: "warn",
  degraded: "warn",
  drained: "removed",
  online: "ready",
  healthy: "ready",
  unhealthy: "failed",
  starting: "applying",
  stopped: "offline",
  waiting: "approval",
};

/* States that have colours and a line of their own, in status.css. */
const drawn = new Set(
  (
    "queued pending applying pulling running ready done undoing undone warn failed removing canceled " +
    "removed skipped forgotten stuck untrusted approval offline unknown readonly"
  ).split(" "),
);

/** What a state looks like. One that this page does not know is drawn as unknown, under its own word. */
export function lookOf(state: string): string {
  return looks[state] ?? (drawn.has(state) ? state : "unknown");
}

type Props = { state: string; children?: ReactNode; share?: number; small?: boolean };

/** Glyph and word of a state, always together. */
export function StatusMark({ state, children, share, small }: Props) {
  return (
    <span className="st" data-st={lookOf(state)}>
      <Glyph state={glyphOf(state)} share={share} size={small ? "sm" : undefined} />
      {children ?? stateWord(state)}
    </span>
  );
}

function glyphOf(state: string): string {
  const health: Record<string, string> = {
    healthy: "ready",
    unhealthy: "failed",
    starting: "applying",
    stopped: "offline",
    draining: "removing",
    overdue: "warn",
    degraded: "warn",
    drained: "removed",
  };
  return health[state] ?? state;
}

export function Pill({ state, children, share }: Props) {
  return (
    <span className="pill" data-st={lookOf(state)}>
      <Glyph state={glyphOf(state)} share={share} />
      {children ?? stateWord(state)}
    </span>
  );
}

/** The line at a row's edge: its pattern says movement. In a table it is a cell, an empty one. */
export function Rail({ state, cell }: { state: string; cell?: boolean }) {
  const part = cell ? { role: "cell" } : { "aria-hidden": true };
  return <span className="rail" data-st={lookOf(state)} {...part} />;
}

/** The strip under the top bar, only when a machine or link needs a person. */
export function Notice({
  state,
  title,
  children,
  act,
}: {
  state: string;
  title: string;
  children?: ReactNode;
  act?: ReactNode;
}) {
  return (
    <div className="notice" data-st={lookOf(state)} role="status">
      <Rail state={state} />
      <StatusMark state={state}>{title}</StatusMark>
      <span className="t2 tr">{children}</span>
      {act ? <span className="end nw">{act}</span> : null}
    </div>
  );
}
