import type { PortType } from "../model/catalogue";

const paths: Record<PortType, string> = {
  text: "M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1Z",
  number: "M1.5 1.5h9v9h-9Z",
  url: "M6 1l5.2 9.6H.8Z",
  secret: "M6 .4 11.6 6 6 11.6.4 6Z",
  object: "M3.3 1h5.4L11.6 6 8.7 11H3.3L.4 6Z",
  bool: "M6 1a5 5 0 0 0 0 10Z",
  any: "M6 2.4a3.6 3.6 0 1 0 0 7.2 3.6 3.6 0 0 0 0-7.2Z",
};

/** The shape says the type, the colour comes second. */
export function PortShape({ type }: { type: PortType }) {
  return (
    <svg className="pt-i" data-t={type} viewBox="0 0 12 12" aria-hidden="true">
      {type === "bool" ? (
        <circle cx="6" cy="6" r="4.6" fill="none" stroke="currentColor" strokeWidth="1.4" />
      ) : null}
      {type === "any" ? (
        <path d={paths.any} fill="none" stroke="currentColor" strokeWidth="1.6" />
      ) : (
        <path d={paths[type]} fill="currentColor" />
      )}
    </svg>
  );
}
