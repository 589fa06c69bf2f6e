import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { me } from "@/api/queries/common";
import { users } from "@/api/queries/people";
import { useKeys } from "@/components/Shell";
import { useTypedValue } from "@/components/useTypedValue";
import { auditTexts as t } from "@/pages/audit/auditTexts";
import { actionWords, actorWords } from "./auditWords";
import { newest, type Words, wordsOf } from "./filterWords";
import type { AuditSearch } from "./search";

type Props = { search: AuditSearch; set: (change: AuditSearch) => void };
type TextName = "who" | "what";

type Pick = { name: TextName; label: string; any: string; say: (value: string) => string };

const PICKS: Pick[] = [
  { name: "who", label: t.who, any: t.anybody, say: actorWords },
  { name: "what", label: t.what, any: t.anything, say: actionWords },
];

/** Who, what, on what, with what result, on which days. [ and ] go a day back or on. */
export function AuditFilters({ search, set }: Props) {
  useKeys({
    "/": () => document.querySelector<HTMLInputElement>("#audit-on")?.focus(),
    "[": () => set(shifted(search, -1)),
    "]": () => set(shifted(search, 1)),
  });
  const [words, ask] = useWords();
  return (
    <div className="filters">
      {PICKS.map((one) => (
        <Picker
          key={one.name}
          {...one}
          offered={words[one.name]}
          value={search[one.name] ?? ""}
          set={(text) => set({ [one.name]: text || undefined })}
          ask={ask}
        />
      ))}
      <On
        offered={words.on}
        value={search.on ?? ""}
        set={(text) => set({ on: text || undefined })}
        ask={ask}
      />
      <select
        className="btn sm"
        aria-label={t.result}
        value={search.result ?? ""}
        onChange={(event) =>
          set({ result: (event.target.value || undefined) as AuditSearch["result"] })
        }
      >
        <option value="">{t.anyResult}</option>
        {Object.entries(t.results).map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
      <Day name="since" label={t.since} search={search} set={set} />
      <Day name="until" label={t.until} search={search} set={set} />
    </div>
  );
}

/** What the fields offer, read once one of them is gone to; without it they can be typed in all the same. */
function useWords(): [Words, () => void] {
  const [asked, setAsked] = useState(false);
  const admin = useQuery(me).data?.role === "admin";
  const entries = useQuery({ ...newest, enabled: asked }).data;
  const people = useQuery({ ...users, enabled: asked && admin }).data;
  const words = useMemo(
    () => wordsOf(entries ?? [], people?.map((one) => one.name) ?? []),
    [entries, people],
  );
  return [words, () => setAsked(true)];
}

type Offer = {
  offered: string[];
  value: string;
  set: (text: string) => void;
  ask: () => void;
};

/** Who, or what, of those that the audit and the people name: said in words, sorted by them. */
function Picker({ name, label, any, say, offered, value, set, ask }: Pick & Offer) {
  const all = [...new Set([...offered, ...(value ? [value] : [])])];
  const options = all.map((one) => ({ value: one, label: say(one) }));
  return (
    <select
      id={`audit-${name}`}
      className={`btn sm ${name === "who" ? "" : "hide-m"}`}
      aria-label={label}
      value={value}
      onFocus={ask}
      onPointerDown={ask}
      onChange={(event) => set(event.target.value)}
    >
      <option value="">{any}</option>
      {options
        .sort((a, b) => a.label.localeCompare(b.label))
        .map((one) => (
          <option key={one.value} value={one.value}>
            {one.label}
          </option>
        ))}
    </select>
  );
}

/** What it was done to, by a part of its name. */
function On({ offered, value, set, ask }: Offer) {
  const id = "audit-on";
  const [typed, type] = useTypedValue(value, set);
  return (
    <div className="in sm slim hide-m">
      <label className="t3 s" htmlFor={id}>
        {t.on}
      </label>
      <input
        id={id}
        type="search"
        placeholder={t.onHint}
        list={`${id}-words`}
        autoCapitalize="none"
        spellCheck={false}
        value={typed}
        onFocus={ask}
        onChange={(event) => type(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
      />
      <datalist id={`${id}-words`}>
        {offered.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </div>
  );
}

function Day({ name, label, search, set }: Props & { name: "since" | "until"; label: string }) {
  return (
    <label className="in sm hide-m">
      <span className="t3 s">{label}</span>
      <input
        type="date"
        value={search[name] ?? ""}
        onChange={(event) => set({ [name]: event.target.value || undefined })}
      />
    </label>
  );
}

/** The same span a day earlier or later; without one, today is where it begins. */
function shifted(search: AuditSearch, by: number): AuditSearch {
  const move = (day: string) => {
    const date = new Date(`${day}T12:00:00`);
    date.setDate(date.getDate() + by);
    return local(date);
  };
  const since = search.since ?? search.until ?? local(new Date());
  const until = search.until ?? since;
  return { since: move(since), until: move(until) };
}

const local = (date: Date) =>
  [
    date.getFullYear(),
    String(date.getMonth() + 1).padStart(2, "0"),
    String(date.getDate()).padStart(2, "0"),
  ].join("-");
