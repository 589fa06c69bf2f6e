import { Link, useNavigate } from "@tanstack/react-router";
import type { Deployment } from "@/api/client";
import { useKeys } from "@/components/Shell";
import { useTabInSight } from "@/components/useTabInSight";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { reachTexts } from "@/pages/deployment/reachTexts";
import { deployTexts } from "@/pages/deployTexts";
import { acrossTabs } from "./search";

const t = pageTexts;

/** The tabs as they stand, which is also the order of their keys. */
export const order = [
  "run",
  "services",
  "logs",
  "metrics",
  "terminal",
  "details",
  "history",
  "comments",
  "verdict",
  "inbox",
];

export const tabNames: Record<string, string> = {
  ...t.tabs,
  ...reachTexts.tabs,
  details: deployTexts.details.tab,
};

/** Whether the page has it; the bug capsule and the comparison have a place, but no tab. */
export function isTab(tab: string): boolean {
  return order.includes(tab) || tab === "capsule" || tab === "compare";
}

type Props = {
  shown: string;
  level: Deployment["level"];
  /** How many there are of what a tab lists. */
  counts: Record<string, number>;
};

export function Tabs({ shown, level, counts }: Props) {
  const inSight = useTabInSight(shown);
  return (
    <nav ref={inSight} className="tabs line" aria-label={t.tabsLabel}>
      {tabsFor(level).map((tab) => (
        <Tab key={tab} tab={tab} current={shown === tab} count={counts[tab] ?? 0} />
      ))}
    </nav>
  );
}

/** A terminal is for who has full access; nothing of it could be used by others. */
export function tabsFor(level: Deployment["level"]): string[] {
  return level === "full" ? order : order.filter((tab) => tab !== "terminal");
}

/** The router marks what the address is; what is shown without a tab in the address is marked here. */
function Tab({ tab, current, count }: { tab: string; current: boolean; count: number }) {
  return (
    <Link
      className="tab"
      to="."
      params={(before: object) => ({ ...before, tab })}
      search={acrossTabs(tab)}
      activeOptions={{ exact: true, explicitUndefined: true }}
      aria-current={current ? "page" : undefined}
      activeProps={{ "aria-current": current ? "page" : undefined }}
    >
      {tabNames[tab]} {count > 0 ? <span className="n">{count}</span> : null}
    </Link>
  );
}

/** Leads to a tab of the page that is open. */
export function useGoTab(): (tab: string) => void {
  const navigate = useNavigate();
  return (tab) =>
    void navigate({
      to: ".",
      params: (before: object) => ({ ...before, tab }),
      search: acrossTabs(tab),
    });
}

/** 1 to 9 lead to the tabs, L to the log, / to the search of the log that is shown. */
export function useTabKeys(shown: string) {
  const go = useGoTab();
  const openLog = useOpenLog(shown);
  // The tenth has no digit of its own.
  const keys = order.slice(0, 9).map((tab, at) => [String(at + 1), () => go(tab)] as const);
  useKeys({
    ...Object.fromEntries(keys),
    l: () => openLog(),
    "/": () => document.querySelector<HTMLInputElement>("[data-find]")?.focus(),
  });
}

/** The log in sight gets the focus; else the one of the step, where there is one, or the tab opens. */
function useOpenLog(shown: string): () => void {
  const navigate = useNavigate();
  const go = useGoTab();
  return () => {
    const log = document.querySelector<HTMLElement>("[role=log]");
    if (log) log.focus();
    else if (shown !== "run") go("logs");
    else
      void navigate({
        to: ".",
        params: (before: object) => before,
        search: (before: object) => ({ ...before, show: undefined }),
        replace: true,
      });
  };
}
