import { Link } from "@tanstack/react-router";
import { type MouseEvent, memo, type ReactNode } from "react";
import type { Deployment } from "@/api/client";
import { hasEnded } from "@/api/deploymentState";
import { plainText } from "@/components/ansi";
import { BidiSafe } from "@/components/BidiSafe";
import { Button, buttonClass } from "@/components/Button";
import { Glyph } from "@/components/Glyph";
import { MiddleTruncate } from "@/components/MiddleTruncate";
import { Rail, StatusMark, stateWord } from "@/components/Status";
import { Time } from "@/components/Time";
import { formatExact } from "@/components/time";
import { texts } from "@/texts";
import { usePermissionReasonOn } from "../shell/usePermissionReason";
import { describeTests, hasTestProblem } from "../testSummary";
import { mainUrl, shownState, waitsForMe } from "./filters";
import { LifetimeLeft, leftOf } from "./LifetimeLeft";

// One path each, made once: the icons of the collection are half of a row's elements.
const copyIcon = <Icon d="M9 9h12v12H9zM15 5V3H3v12h2" />;
const openIcon = <Icon d="M10 5H4v15h15v-6M11 13 20.5 3.5M14 3h7v7" />;

function Icon({ d }: { d: string }) {
  return (
    <svg className="i sm" viewBox="0 0 24 24" fill="none" stroke="currentColor" aria-hidden="true">
      <path d={d} strokeLinecap="round" strokeLinejoin="round" />
    </svg>
  );
}

type Props = {
  deployment: Deployment;
  selected: boolean;
  /** One of those that the keys act on together. */
  marked?: boolean;
  index: number;
  measure?: (row: HTMLElement | null) => void;
  onRetry: (deployment: Deployment) => void;
  onCopy: (deployment: Deployment) => void;
  onFollow: (event: MouseEvent, deployment: Deployment) => void;
};

/** A row of the list; renders again only if its deployment or its selection changes. */
export const Row = memo(function Row(props: Props) {
  const { deployment, selected, index, measure } = props;
  const onRetry = () => props.onRetry(deployment);
  const onCopy = () => props.onCopy(deployment);
  const offline = Boolean(deployment.node_offline_since);
  const state = waitsForMe(deployment) ? "waiting" : shownState(deployment);
  const { name, environment } = deployment;
  const url = mainUrl(deployment);
  const follow = (event: MouseEvent) => {
    if (!(event.target as Element).closest("a, button")) props.onFollow(event, deployment);
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the row's link has the keys.
    <div
      onClick={follow}
      className="lr cols"
      role="row"
      data-selected={selected || undefined}
      data-marked={props.marked || undefined}
      data-id={deployment.id}
      data-index={index}
      aria-rowindex={index + 2}
      ref={measure}
    >
      <Rail state={offline ? "offline" : state} cell />
      <span role="cell" className="c-name">
        {/* Not the router's Link: to make its place anew is much of what a row costs. */}
        <a
          className="nm tr"
          title={titleOf(deployment)}
          href={placeOf(deployment)}
          onClick={(event) => props.onFollow(event, deployment)}
        >
          {name}
        </a>
        <span className="pj">{deployment.project}</span>
      </span>
      <span role="cell" className="c-st">
        <StatusMark state={state} share={shareOf(deployment)}>
          {state === "waiting" ? texts.list.asks : undefined}
        </StatusMark>
        <Detail deployment={deployment} />
      </span>
      <span role="cell" className="c-v">
        <Version deployment={deployment} />
      </span>
      <span role="cell" className="c-e tr">
        {environment}
      </span>
      <span role="cell" className="c-o tr" title={deployment.created_by}>
        {deployment.created_by}
      </span>
      <LifetimeLeft deployment={deployment} />
      <Time at={deployment.changed_at} short className="c-a" role="cell" />
      <span role="cell" className="c-x">
        <MainAct deployment={deployment} url={url} onRetry={onRetry} onCopy={onCopy} />
      </span>
    </div>
  );
});

/** The name in full, and the moments whose cells tell them short: the keyboard comes to the link only. */
function titleOf(deployment: Deployment): string {
  const { name, changed_at } = deployment;
  const left = leftOf(deployment, Date.now()).title;
  return [name, texts.list.changedAt(formatExact(changed_at)), left].filter(Boolean).join("\n");
}

/** By name; the record of what is gone by its id, since its name may be another's by now. */
function placeOf({ id, status, environment, name }: Deployment): string {
  if (hasEnded(status)) return `/d/${id}`;
  return `/deployments/${encodeURIComponent(environment)}/${encodeURIComponent(name)}`;
}

export function shareOf(deployment: Deployment): number {
  return deployment.steps_total === 0 ? 0 : deployment.steps_done / deployment.steps_total;
}

function Detail({ deployment }: { deployment: Deployment }) {
  const { node, status, tests, condition } = deployment;
  if (deployment.node_offline_since && node) {
    const away = status === "removing" ? texts.list.waiting(node) : texts.list.offline(node);
    return (
      <span className="dt off tr" data-st="offline">
        {shownState(deployment) === "offline" ? `${stateWord(status)}, ${away}` : away}
      </span>
    );
  }
  if (status === "ready" && condition !== "degraded" && hasTestProblem(tests))
    return (
      <span className="dt off tr" data-st="warn" title={tests.problem}>
        <Glyph state="warn" size="sm" />
        {describeTests(tests)}
      </span>
    );
  const said = describeState(deployment);
  return (
    <span className="dt tr" title={plainText(said)}>
      <BidiSafe text={said} />
    </span>
  );
}

function describeState(deployment: Deployment): string {
  const { status, failure, detail, services, question } = deployment;
  if (question && waitsForMe(deployment)) return `${question.step}: ${question.prompt}`;
  if ((status === "failed" || status === "stuck") && failure)
    return [failure.step, failure.message].filter(Boolean).join(": ");
  if (status === "applying" || status === "undoing") {
    const count = texts.list.steps(deployment.steps_done, deployment.steps_total);
    return [deployment.steps_total > 0 ? count : "", detail].filter(Boolean).join(" · ");
  }
  if (deployment.condition === "degraded") return deployment.condition_reason ?? "";
  if (status === "ready" && services.length > 0) {
    const healthy = services.filter((service) => service.health === "healthy").length;
    return texts.list.healthy(healthy, services.length);
  }
  return detail ?? "";
}

function Version({ deployment }: { deployment: Deployment }) {
  const chosen = deployment.versions.filter((version) => version.tag_mode === "selectable");
  const first =
    chosen.find((version) => version.step === "web") ?? chosen[0] ?? deployment.versions[0];
  if (!first) return null;
  const all = deployment.versions.map((version) => `${version.step} ${version.tag}`).join("\n");
  return (
    <>
      <span className="chip" title={all}>
        <span className="t3 tr">{first.step}</span>
        <MiddleTruncate text={first.tag} />
      </span>
      {chosen.length > 1 ? <span className="t2 s">+{chosen.length - 1}</span> : null}
    </>
  );
}

type ActProps = {
  deployment: Deployment;
  url?: { step: string; url: string };
  onRetry: () => void;
  onCopy: () => void;
};

function Retry({ deployment, retry }: { deployment: Deployment; retry: () => void }) {
  const act = (reason?: string) => (
    <Button small onClick={retry} reason={reason} aria-label={texts.list.retryOf(deployment.name)}>
      {texts.list.retry}
    </Button>
  );
  // Who may do it needs no explanation, and a row of a long list is drawn often.
  if (deployment.level !== "full") return <Lacking deployment={deployment} act={act} />;
  return act(deployment.scratch ? texts.page.scratchHint : undefined);
}

function Lacking({
  deployment,
  act,
}: {
  deployment: Deployment;
  act: (reason?: string) => ReactNode;
}) {
  return act(usePermissionReasonOn(deployment));
}

/** The one act a row offers: what its state calls for, and nothing else. */
function MainAct({ deployment, url, onRetry, onCopy }: ActProps) {
  const { name, environment, status } = deployment;
  if (status === "failed") return <Retry deployment={deployment} retry={onRetry} />;
  const asks = waitsForMe(deployment);
  if (status === "stuck" || asks)
    return (
      <Link
        className={buttonClass("plain", true)}
        to="/deployments/$environment/$name/{-$tab}"
        params={{ environment, name, tab: asks ? "run" : undefined }}
        aria-label={asks ? texts.list.answerOf(name) : texts.list.resolveOf(name)}
      >
        {asks ? texts.list.answer : texts.list.resolve}
      </Link>
    );
  if (!url) return null;
  const label = texts.list.open(url.step, name);
  const copy = texts.copy(url.url);
  return (
    <>
      <Button
        small
        icon
        look="ghost"
        className="more"
        aria-label={copy}
        title={copy}
        onClick={onCopy}
      >
        {copyIcon}
      </Button>
      <a
        className={buttonClass("ghost", true, true)}
        href={url.url}
        target="_blank"
        rel="noreferrer"
        aria-label={label}
        title={label}
      >
        {openIcon}
      </a>
    </>
  );
}
