import type { ReactNode } from "react";
import { CopyButton } from "@/components/Copy";

/** A name and what it is, in a list of such. */
export function DetailPair({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

/** What programs want exactly, with a button that copies it. */
export function Exact({ text, what }: { text: string; what?: string }) {
  return (
    <span className="row gap-1">
      <span className="mono min-w-0 break-all">{text}</span>
      <CopyButton text={text} what={what ?? text} />
    </span>
  );
}
