import { Button } from "@/components/Button";
import { TONES } from "@/components/LogLine";
import { reachTexts } from "@/pages/deployment/reachTexts";
import { logSpans, type PageSearch } from "./search";

const t = reachTexts.logs;
const spans: Record<number, string> = t.spans;

type Props = {
  sources: string[];
  picked: string[];
  search: PageSearch;
  change: (change: PageSearch) => void;
};

/** What a log is narrowed by; all of it is in the address. */
export function LogTools({ sources, picked, search, change }: Props) {
  // Where a log begins that was opened for one line, is said by that line; other lines are another log.
  const narrow = (to: PageSearch) => change({ ...to, at: undefined });
  return (
    <div className="row wrap" role="group" aria-label={t.sources}>
      <Sources sources={sources} picked={picked} change={change} />
      <Span since={search.since} choose={(since) => narrow({ since })} />
    </div>
  );
}

function Sources({ sources, picked, change }: Pick<Props, "sources" | "picked" | "change">) {
  const choose = (next: string[]) => change({ log: next.join(",") || undefined });
  const toggle = (key: string) =>
    choose(picked.includes(key) ? picked.filter((one) => one !== key) : [...picked, key]);
  return (
    <>
      <Button small aria-pressed={picked.length === 0} onClick={() => choose([])}>
        {t.all}
      </Button>
      {sources.map((key, at) => (
        <Button
          key={key}
          small
          look="ghost"
          aria-pressed={picked.includes(key)}
          onClick={() => toggle(key)}
        >
          <span data-tone={at % TONES}>{key}</span>
        </Button>
      ))}
    </>
  );
}

type SpanProps = { since?: number; choose: (since?: number) => void };

function Span({ since, choose }: SpanProps) {
  return (
    <label className="row gap-1.5 s">
      {t.since}
      <select
        className="in sm"
        value={since ?? ""}
        onChange={(event) => choose(Number(event.target.value) || undefined)}
      >
        <option value="">{t.spans.all}</option>
        {logSpans.map((span) => (
          <option key={span} value={span}>
            {spans[span]}
          </option>
        ))}
      </select>
    </label>
  );
}
