import { logTexts } from "@/components/logTexts";
import { ErrorState } from "@/components/States";
import { useDebounced } from "@/components/useDebounced";
import { reachTexts } from "@/pages/deployment/reachTexts";
import type { LogStream } from "./logStream";

const t = reachTexts.logs;

/** Why a log cannot be read, or that what is shown is from before. */
export function LogNotes({ log }: { log: LogStream & { again: () => void } }) {
  if (log.error !== undefined)
    return (
      <ErrorState
        what={logTexts.unread}
        error={log.error}
        retry={log.again}
        stale={log.lines.length > 0 ? t.kept : undefined}
      />
    );
  if (log.link !== "behind") return null;
  return (
    <p className="t2 s px-4 py-1" role="status">
      {t.behind}
    </p>
  );
}

/** How long lines may take that are there already: their node has to be asked, in ms. */
const UNDER_WAY = 2500;

/** What is said in place of lines. That there are none is said once they had the time to come. */
export function useEmptyText(log: LogStream, none: string): string {
  const said = { ...silences, live: none }[log.link];
  const settled = useDebounced(said, UNDER_WAY);
  return log.link === "live" ? settled : said;
}

const silences = {
  connecting: logTexts.reading,
  behind: logTexts.reading,
  failed: t.out,
  ended: logTexts.none,
};
