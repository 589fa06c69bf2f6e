import type { ReactNode } from "react";

/** One family of components, in all its states. */
export function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="col gap-3 py-3">
      <h3>{title}</h3>
      {children}
    </div>
  );
}

/** One state, with its name above it. */
export function Shown({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="col gap-1">
      <span className="s t3">{name}</span>
      {children}
    </div>
  );
}
