import { Link } from "@tanstack/react-router";
import { StatusMark } from "@/components/Status";
import { Time } from "@/components/Time";
import { fleetTexts as t } from "@/pages/fleet/fleetTexts";
import { groupTroubles, type Trouble, type TroubleGroup, type Where } from "./trouble";

/** More than these are folded away. */
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
  const groups = groupTroubles(troubles);
  const sure = unread.length === 0 && !stale;
  return (
    <section className="px-4 py-3" aria-labelledby="needs">
      <h2 id="needs" className="mb-1">
        {none && !sure ? t.needsUnknown : t.needs(groups.length)}
      </h2>
      {none && sure ? <p className="t2">{t.calm(disabled)}</p> : null}
      <Groups groups={groups.slice(0, MOST)} />
      {groups.length > MOST ? (
        <details className="fold pt-2">
          <summary>{t.more(groups.length - MOST)}</summary>
          <Groups groups={groups.slice(MOST)} />
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

function Groups({ groups }: { groups: TroubleGroup[] }) {
  return (
    <ul className="needs">
      {groups.map(({ first, all }) =>
        all.length > 1 && first.many ? (
          <li key={first.id} className="many">
            <details className="fold">
              <summary>
                <StatusMark state={first.state}>{first.many(all.length)}</StatusMark>
              </summary>
              <ul className="needs">
                {all.map((one) => (
                  <One key={one.id} trouble={one} />
                ))}
              </ul>
            </details>
          </li>
        ) : (
          <One key={first.id} trouble={first} />
        ),
      )}
    </ul>
  );
}

function One({ trouble }: { trouble: Trouble }) {
  const { state, where, what, since, remedy } = trouble;
  return (
    <li>
      <StatusMark state={state}>
        <At where={where}>{what}</At>
      </StatusMark>
      <span className="t2">
        {since ? (
          <>
            {t.lasting} <Time at={since} short className="nw" />
            {". "}
          </>
        ) : null}
        {remedy}
      </span>
    </li>
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
