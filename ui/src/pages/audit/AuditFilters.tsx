import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { me } from "@/api/queries/common";
import { users } from "@/api/queries/people";
import { useKeys } from "@/components/Shell";
import { useTypedValue } from "@/components/useTypedValue";
import { auditTexts as t } from "@/pages/audit/auditTexts";
import { newest, type Words, wordsOf } from "./filterWords";
import type { AuditSearch } from "./search";

type Props = { search: AuditSearch; set: (change: AuditSearch) => void };
type TextName = keyof Words;

const TEXTS: { name: TextName; label: string; hint: string }[] = [
  { name: "who", label: t.who, hint: t.whoHint },
  { name: "what", label: t.what, hint: t.whatHint },
  { name: "on", label: t.on, hint: t.onHint },
];

/** Who, what, on what, with what result, on which days. [ and ] go a day back or on. */
export function AuditFilters({ search, set }: Props) {
  useKeys({
    "/": () => document.querySelector<HTMLInputElement>("#audit-who")?.focus(),
    "[": () => set(shifted(search, -1)),
    "]": () => set(shifted(search, 1)),
  });
  const [words, ask] = useWords();
  return (
    <div className="filters">
      {TEXTS.map((one) => (
        <Text
          key={one.name}
          {...one}
          offered={words[one.name]}
          value={search[one.name] ?? ""}
          set={(text) => set({ [one.name]: text || undefined })}
          ask={ask}
        />
      ))}
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

type TextProps = (typeof TEXTS)[number] & {
  offered: string[];
  value: string;
  set: (text: string) => void;
  ask: () => void;
};

function Text({ name, label, hint, offered, value, set, ask }: TextProps) {
  const id = `audit-${name}`;
  const [typed, type] = useTypedValue(value, set);
  return (
    <div className={`in sm slim ${name === "who" ? "" : "hide-m"}`}>
      <label className="t3 s" htmlFor={id}>
        {label}
      </label>
      <input
        id={id}
        type="search"
        placeholder={hint}
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
