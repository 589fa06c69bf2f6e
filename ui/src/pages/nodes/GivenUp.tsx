import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import type { Schemas } from "@/api/client";
import { givenUpNodes } from "@/api/queries/catalog";
import { Time } from "@/components/Time";
import { machineTexts } from "@/pages/nodes/machineTexts";
import { ReadFailed } from "../deployment/ReadFailed";

const t = machineTexts.givenUp;

type Forgotten = Schemas["ForgottenNode"];

/** Nodes that were given up, with what was left on each. `name` was given up just now. */
export function GivenUp({ name }: { name?: string }) {
  const query = useQuery(givenUpNodes);
  const all = query.data ?? [];
  return (
    <>
      <ReadFailed what={t.unread} query={query} />
      {all.length > 0 ? (
        <details className="fold px-4 py-3" open={name !== undefined}>
          <summary>{t.title(all.length)}</summary>
          <p className="t2 max-w-[72ch]">{t.what}</p>
          <Table all={all} name={name} />
        </details>
      ) : null}
    </>
  );
}

function Table({ all, name }: { all: Forgotten[]; name?: string }) {
  // A name may have been given up more than once; the latest stands first.
  const latest = all.find((one) => one.name === name);
  return (
    <table className="tbl">
      <thead>
        <tr>
          {Object.values(t.columns).map((column) => (
            <th key={column}>{column}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {all.map((one) => (
          <Line key={`${one.name} ${one.at}`} one={one} seen={one === latest} />
        ))}
      </tbody>
    </table>
  );
}

function Line({ one, seen }: { one: Forgotten; seen: boolean }) {
  const self = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    if (seen) self.current?.scrollIntoView?.({ block: "nearest" });
  }, [seen]);
  return (
    <tr ref={self} aria-current={seen || undefined}>
      <td>
        <b>{one.name}</b> <span className="t2">{one.environment}</span>
      </td>
      <td className="mono t2">{one.address}</td>
      <td>{one.by}</td>
      <td>
        <Time at={one.at} className="t2 s nw" />
      </td>
      <td>
        <Left all={one.left} />
      </td>
    </tr>
  );
}

function Left({ all }: { all: Forgotten["left"] }) {
  if (all.length === 0) return <span className="t3">{t.nothing}</span>;
  return (
    <ul className="col gap-1 py-1">
      {all.map((one) => (
        <li key={one.id}>
          <Link className="hover:underline" to="/d/$id/{-$tab}" params={{ id: one.id }}>
            <b>{one.name}</b>
          </Link>{" "}
          <span className="t2">{one.project}</span>
          <ul className="t2 s">
            {one.what.map((what) => (
              <li key={what}>{what}</li>
            ))}
          </ul>
        </li>
      ))}
    </ul>
  );
}
