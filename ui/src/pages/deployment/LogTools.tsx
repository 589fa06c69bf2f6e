import { Download } from "lucide-react";
import { useRef } from "react";
import { Button, buttonClass } from "@/components/Button";
import { TONES } from "@/components/LogLine";
import { usePageAction } from "@/components/pageActions";
import { reachTexts } from "@/pages/deployment/reachTexts";
import { logSpans, type PageSearch } from "./search";

const t = reachTexts.logs;
const spans: Record<number, string> = t.spans;

type Props = {
  sources: string[];
  picked: string[];
  search: PageSearch;
  change: (change: PageSearch) => void;
  /** Where all of it is to be had as a text. */
  download: string;
};

/** What a log is narrowed by; all of it is in the address. */
export function LogTools({ sources, picked, search, change, download }: Props) {
  // Where a log begins that was opened for one line, is said by that line; other lines are another log.
  const narrow = (to: PageSearch) => change({ ...to, at: undefined });
  return (
    <div className="row wrap px-4 py-2" role="group" aria-label={t.sources}>
      <Sources sources={sources} picked={picked} change={change} />
      <Span since={search.since} choose={(since) => narrow({ since })} />
      <DownloadAll address={download} found={search.find !== undefined} />
    </div>
  );
}

function DownloadAll({ address, found }: { address: string; found: boolean }) {
  const self = useRef<HTMLAnchorElement>(null);
  const label = found ? t.downloadFound : t.download;
  usePageAction({ label, run: () => self.current?.click() });
  return (
    <a ref={self} className={buttonClass("ghost", true)} href={address} download>
      <Download className="i sm" aria-hidden="true" />
      {label}
    </a>
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
    <label className="row end gap-1.5 s">
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
