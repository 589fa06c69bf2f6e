import { useLinkProps } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Filters } from "./filters";

type Props = { filters: Filters; current: boolean; children: ReactNode };

/**
 * One of the views, as a link. Which one is current is judged here: the router calls each link current
 * whose filters are among those of the address, and says so itself.
 */
export function ViewTab({ filters, current, children }: Props) {
  const link = useLinkProps({ to: "/deployments", search: filters, className: "tab" });
  return (
    <a {...link} aria-current={current ? "page" : undefined}>
      {children}
    </a>
  );
}
