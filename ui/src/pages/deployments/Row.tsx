import { type MouseEvent, memo } from "react";
import type { Deployment } from "@/api/client";
import { hasEnded, shownState } from "@/api/deploymentState";
import { MiddleTruncate } from "@/components/MiddleTruncate";
import { Rail, StatusMark } from "@/components/Status";
import { Time } from "@/components/Time";
import { formatExact } from "@/components/time";
import { texts } from "@/texts";
import { mainVersion } from "./arrange";
import { mainUrl, waitsForMe } from "./filters";
import { LifetimeLeft, leftOf } from "./LifetimeLeft";
import { MainAct } from "./MainAct";
import { Detail } from "./RowDetail";

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
  onMark: (id: string) => void;
  onMenu: (deployment: Deployment, anchor: HTMLElement) => void;
  /** One of this person's favourites. */
  starred?: boolean;
};

// One path, made once: as in MainAct.
const moreIcon = (
  <svg className="i sm" viewBox="0 0 24 24" fill="currentColor" aria-hidden="true">
    <path d="M5 10a2 2 0 1 1 0 4 2 2 0 0 1 0-4M12 10a2 2 0 1 1 0 4 2 2 0 0 1 0-4M19 10a2 2 0 1 1 0 4 2 2 0 0 1 0-4" />
  </svg>
);

/** Whether a row has a second line, with the whole cause of what went wrong. */
export function isTall({ status, failure }: Deployment): boolean {
  return (status === "failed" || status === "stuck") && failure !== undefined;
}

/** A row of the list; renders again only if its deployment or its selection changes. */
export const Row = memo(function Row(props: Props) {
  const { deployment, selected, index, measure } = props;
  const onRetry = () => props.onRetry(deployment);
  const onCopy = () => props.onCopy(deployment);
  const offline = Boolean(deployment.node_offline_since);
  const mine = waitsForMe(deployment);
  const state = mine ? "waiting" : shownState(deployment);
  const { name, environment } = deployment;
  const url = mainUrl(deployment);
  const follow = (event: MouseEvent) => {
    if (!(event.target as Element).closest("a, button, label")) props.onFollow(event, deployment);
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the row's link has the keys.
    <div
      onClick={follow}
      className={isTall(deployment) ? "lr cols why" : "lr cols"}
      role="row"
      data-selected={selected || undefined}
      data-marked={props.marked || undefined}
      data-id={deployment.id}
      data-index={index}
      aria-rowindex={index + 2}
      ref={measure}
    >
      <Rail state={offline ? "offline" : state} cell />
      <span role="cell" className="c-k">
        <label title={texts.list.mark(name)}>
          <input
            type="checkbox"
            aria-label={texts.list.mark(name)}
            checked={props.marked ?? false}
            onChange={() => props.onMark(deployment.id)}
          />
        </label>
      </span>
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
        {props.starred ? (
          <span
            className="star"
            role="img"
            aria-label={texts.list.starred}
            title={texts.list.starred}
          >
            ★
          </span>
        ) : null}
        <span className="pj">{deployment.project}</span>
      </span>
      <span role="cell" className="c-st">
        <StatusMark state={state} share={shareOf(deployment)}>
          {mine ? texts.list.asks : undefined}
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
        <button
          type="button"
          className="btn ghost sm ic"
          aria-label={texts.list.menu(name)}
          title={texts.list.menu(name)}
          aria-haspopup="menu"
          onClick={(event) => props.onMenu(deployment, event.currentTarget)}
        >
          {moreIcon}
        </button>
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

function Version({ deployment }: { deployment: Deployment }) {
  const chosen = deployment.versions.filter((version) => version.tag_mode === "selectable");
  const first = mainVersion(deployment);
  if (!first) return null;
  const all = deployment.versions.map((version) => `${version.step} ${version.tag}`).join("\n");
  return (
    <>
      <span className="chip" title={all}>
        <span className="t3 whole">{first.step}</span>
        <MiddleTruncate text={first.tag} />
      </span>
      {chosen.length > 1 ? <span className="t2 s">+{chosen.length - 1}</span> : null}
    </>
  );
}
