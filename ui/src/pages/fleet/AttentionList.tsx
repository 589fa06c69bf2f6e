import { Link } from "@tanstack/react-router";
import { StatusMark } from "@/components/Status";
import { Time } from "@/components/Time";
import { fleetTexts as t } from "@/pages/fleet/fleetTexts";
import type { Trouble, Where } from "./trouble";

/** More than these are folded away: a hundred agents of another version hide nothing else. */
const MOST = 10;

type Props = {
  troubles: Trouble[];
  /** What could not be read, in words. */
  unread: string[];
  /** The nodes are those of an earlier reading; the page says so above. */
  stale: boolean;
  /** The number of disabled nodes, which are not checked. */
  disabled: number;
};

/** What needs a person, before everything else. */
export function AttentionList({ troubles, unread, stale, disabled }: Props) {
  const none = troubles.length === 0;
  const sure = unread.length === 0 && !stale;
  return (
    <section className="px-4 py-3" aria-labelledby="needs">
      <h2 id="needs" className="mb-1">
        {none && !sure ? t.needsUnknown : t.needs(troubles.length)}
      </h2>
      {none && sure ? <p className="t2">{t.calm(disabled)}</p> : null}
      <List troubles={troubles.slice(0, MOST)} />
      {troubles.length > MOST ? (
        <details className="fold pt-2">
          <summary>{t.more(troubles.length - MOST)}</summary>
          <List troubles={troubles.slice(MOST)} />
        </details>
      ) : null}
      {unread.map((what) => (
        <p key={what} className="t2 s">
          {t.partly(what)}
        </p>
      ))}
    </section>
  );
}

function List({ troubles }: { troubles: Trouble[] }) {
  return (
    <ul className="needs">
      {troubles.map((one) => (
        <li key={one.id}>
          <StatusMark state={one.state}>
            <At where={one.where}>{one.what}</At>
          </StatusMark>
          <span className="t2">
            {one.since ? (
              <>
                {t.lasting} <Time at={one.since} short className="nw" />
                {". "}
              </>
            ) : null}
            {one.remedy}
          </span>
        </li>
      ))}
    </ul>
  );
}

function At({ where, children }: { where: Where; children: string }) {
  const look = "hover:underline";
  if ("node" in where)
    return (
      <Link className={look} to="/nodes/$name" params={{ name: where.node }}>
        {children}
      </Link>
    );
  if ("state" in where)
    return (
      <Link className={look} to="/deployments" search={{ state: where.state }}>
        {children}
      </Link>
    );
  if ("environment" in where)
    return (
      <Link className={look} to="/environments" search={{ open: where.environment }}>
        {children}
      </Link>
    );
  return where.page === "queue" ? (
    <Link className={look} to="/deployments" search={{ state: "queued" }}>
      {children}
    </Link>
  ) : (
    <Link className={look} to="/settings/{-$tab}" params={{ tab: where.page }}>
      {children}
    </Link>
  );
}
