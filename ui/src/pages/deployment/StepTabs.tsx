import { Link } from "@tanstack/react-router";
import { pageTexts } from "@/pages/deployment/pageTexts";
import type { StepTab } from "./search";

const t = pageTexts;

/** What of a step is shown; its log, when the address names nothing else. */
export function StepTabs({ step, show }: { step: string; show?: StepTab }) {
  return (
    <nav className="tabs" aria-label={step}>
      <Tab show={undefined} current={show} label={t.stepTabs.log} />
      <Tab show="input" current={show} label={t.stepTabs.input} />
      <Tab show="output" current={show} label={t.stepTabs.output} />
      <Tab show="earlier" current={show} label={t.stepTabs.earlier} />
    </nav>
  );
}

/** Exactly: otherwise the log, which adds nothing to the address, would be current on every tab. */
function Tab({ show, current, label }: { show?: StepTab; current?: string; label: string }) {
  return (
    <Link
      className="tab"
      to="."
      search={(before) => ({ ...before, show })}
      replace
      activeOptions={{ exact: true, explicitUndefined: true }}
      aria-current={current === show ? "page" : undefined}
      activeProps={{ "aria-current": current === show ? "page" : undefined }}
    >
      {label}
    </Link>
  );
}
