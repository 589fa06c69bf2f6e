import { auditTexts as t } from "@/auditTexts";
import { useKeys } from "@/components/Shell";
import type { AuditSearch } from "./search";

type Props = { search: AuditSearch; set: (change: AuditSearch) => void };

/** Who, what, on what, with what result, on which days. [ and ] go a day back or on. */
export function AuditFilters({ search, set }: Props) {
  useKeys({
    "/": () => document.querySelector<HTMLInputElement>("#audit-who")?.focus(),
    "[": () => set(shifted(search, -1)),
    "]": () => set(shifted(search, 1)),
  });
  return (
    <div className="filters">
      <Text id="audit-who" name="who" label={t.who} hint={t.whoHint} search={search} set={set} />
      <Text
        id="audit-what"
        name="what"
        label={t.what}
        hint={t.whatHint}
        search={search}
        set={set}
      />
      <Text id="audit-on" name="on" label={t.on} hint={t.onHint} search={search} set={set} />
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

type TextProps = Props & { id: string; name: "who" | "what" | "on"; label: string; hint: string };

function Text({ id, name, label, hint, search, set }: TextProps) {
  return (
    <div className={`in sm slim ${name === "who" ? "" : "hide-m"}`}>
      <label className="t3 s" htmlFor={id}>
        {label}
      </label>
      <input
        id={id}
        type="search"
        placeholder={hint}
        value={search[name] ?? ""}
        onChange={(event) => set({ [name]: event.target.value || undefined })}
        onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
      />
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
