import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { ListSearch } from "./listSearch";

/** The name of an entry, as a link that opens its sheet. */
export function OpenLink({ name, children }: { name: string; children?: ReactNode }) {
  return (
    <Link
      to="."
      search={
        ((before: ListSearch) => ({
          ...before,
          open: name,
          add: undefined,
          sheet: undefined,
        })) as never
      }
      className="hover:underline"
    >
      <b>{children ?? name}</b>
    </Link>
  );
}
