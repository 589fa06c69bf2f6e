import { Link, type LinkProps } from "@tanstack/react-router";
import { Fragment, useRef } from "react";
import type { Schemas } from "@/api/client";
import { BidiSafe } from "@/components/BidiSafe";
import { CopyButton } from "@/components/Copy";
import { Glyph } from "@/components/Glyph";
import { formatCount } from "@/components/quantity";
import { useKeys } from "@/components/Shell";
import { StatusMark } from "@/components/Status";
import { Time } from "@/components/Time";
import { formatExact } from "@/components/time";
import { dateLocale } from "@/locale";
import { auditTexts as t } from "@/pages/audit/auditTexts";
import { actionWords, actorWords, changesOf } from "./auditWords";
import { placeOf } from "./objectPage";

type Entry = Schemas["AuditEntry"];
type Props = {
  entries: Entry[];
  open?: string;
  setOpen: (id?: string) => void;
  admin: boolean;
};

const marks: Record<string, string> = { refused: "failed", failed: "stuck" };

/** One line an entry; it opens to what else is known of it. */
export function Entries({ entries, open, setOpen, admin }: Props) {
  const c = t.columns;
  const table = useRef<HTMLTableElement>(null);
  useKeys({ j: () => step(table.current, 1), k: () => step(table.current, -1) });
  return (
    <table className="tbl" ref={table}>
      <thead>
        <tr>
          <th>{c.at}</th>
          <th>{c.who}</th>
          <th>{c.what}</th>
          <th>{c.on}</th>
          <th>{c.result}</th>
          <th className="wide">{c.from}</th>
        </tr>
      </thead>
      <tbody>
        {entries.map((entry, at) => (
          <Fragment key={entry.id}>
            <Day of={entry} before={entries[at - 1]} />
            <Line
              entry={entry}
              admin={admin}
              open={open === entry.id}
              toggle={() => setOpen(open === entry.id ? undefined : entry.id)}
            />
            {open === entry.id ? <More entry={entry} /> : null}
          </Fragment>
        ))}
      </tbody>
    </table>
  );
}

const days = new Intl.DateTimeFormat(dateLocale, { dateStyle: "full" });

/** The day, above the first entry of it, in the reader's own zone. */
function Day({ of, before }: { of: Entry; before?: Entry }) {
  const day = days.format(new Date(of.at));
  if (before && days.format(new Date(before.at)) === day) return null;
  return (
    <tr className="day">
      <th colSpan={6} scope="rowgroup">
        {day}
      </th>
    </tr>
  );
}

/** The focus goes a line on or back; without one, to the first. Enter on it is the button's own. */
function step(table: HTMLTableElement | null, by: 1 | -1) {
  const lines = [...(table?.querySelectorAll<HTMLElement>("[data-entry]") ?? [])];
  const at = lines.indexOf(document.activeElement as HTMLElement);
  const next = lines[at < 0 ? 0 : at + by];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

type LineProps = { entry: Entry; admin: boolean; open: boolean; toggle: () => void };

function Line({ entry, admin, open, toggle }: LineProps) {
  const words = actionWords(entry.action);
  return (
    <tr>
      <td className="nw">
        <Time at={entry.at} className="t2" />
      </td>
      <td className="nw">{actorWords(entry.actor)}</td>
      <td>
        <button
          type="button"
          className="plainlink"
          data-entry
          aria-expanded={open}
          aria-label={`${words}: ${t.more2(`${entry.action} ${entry.object}`)}`}
          onClick={toggle}
        >
          {words}
        </button>
      </td>
      <td className="mono">
        <On object={entry.object} admin={admin} />
      </td>
      <td className="nw">
        {entry.result === "ok" ? (
          <span className="t2 row gap-1.5">
            <Glyph state="ready" size="sm" />
            {t.results.ok}
          </span>
        ) : (
          <StatusMark state={marks[entry.result] ?? "unknown"}>
            {t.results[entry.result] ?? entry.result}
          </StatusMark>
        )}
        {entry.result !== "ok" && entry.detail ? (
          <span className="t2 s ml-2">
            <BidiSafe text={entry.detail.replaceAll("_", " ")} />
          </span>
        ) : null}
      </td>
      <td className="wide mono t2">{entry.from}</td>
    </tr>
  );
}

/** What it was done to, and the way there as far as it has a page. */
function On({ object, admin }: { object: string; admin: boolean }) {
  const place = placeOf(object, admin);
  if (!place) return object;
  return (
    <Link className="hover:underline" {...(place as LinkProps)}>
      {object}
    </Link>
  );
}

function More({ entry }: { entry: Entry }) {
  const changed = changesOf(entry.detail);
  const known: [string, string | undefined][] = [
    [t.details.exact, formatExact(entry.at)],
    [t.details.action, entry.action],
    [t.details.detail, changed ? undefined : entry.detail],
    [t.details.request, entry.request_id],
    [t.details.from, entry.from],
    [t.details.credential, entry.credential],
    [t.details.seq, entry.seq === undefined ? undefined : formatCount(entry.seq)],
  ];
  return (
    <tr className="detail">
      <td colSpan={6}>
        {changed ? <Changed {...changed} /> : null}
        <dl className="kv">
          {known
            .filter(([, value]) => value)
            .map(([label, value]) => (
              <Fragment key={label}>
                <dt>{label}</dt>
                <dd className="row">
                  <span className="mono">{value}</span>
                  {label === t.details.request ? (
                    <CopyButton text={value ?? ""} what={label} />
                  ) : null}
                </dd>
              </Fragment>
            ))}
        </dl>
      </td>
    </tr>
  );
}

/** What the definition was, and what it is. */
function Changed({ changes, more }: NonNullable<ReturnType<typeof changesOf>>) {
  const d = t.details;
  return (
    <table className="tbl changed" aria-label={d.changed}>
      <thead>
        <tr>
          <th>{d.field}</th>
          <th>{d.before}</th>
          <th>{d.after}</th>
        </tr>
      </thead>
      <tbody>
        {changes.map(({ field, before, after }) => (
          <tr key={field}>
            <th scope="row">{field}</th>
            <td>
              <del>
                <BidiSafe text={before || d.empty} />
              </del>
            </td>
            <td>
              <ins>
                <BidiSafe text={after || d.empty} />
              </ins>
            </td>
          </tr>
        ))}
        {more ? (
          <tr>
            <td colSpan={3} className="t2">
              {d.more(more)}
            </td>
          </tr>
        ) : null}
      </tbody>
    </table>
  );
}
