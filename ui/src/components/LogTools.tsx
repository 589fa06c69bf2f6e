import { Braces, Download, OctagonAlert, Search, WrapText } from "lucide-react";
import { logTexts } from "@/components/logTexts";
import { texts } from "@/texts";
import { plainText } from "./ansi";
import { Button } from "./Button";
import type { LogRow } from "./LogLine";
import type { LogErrors } from "./useLogErrors";
import type { Find } from "./useLogFind";

const t = texts.log;

/** A line as the file has it: when, whose where several are in one, and what. */
export function formatLogRow({ at, source, text }: LogRow): string {
  return [at, source, plainText(text)].filter((part) => part !== undefined).join(" ");
}

type ToolProps = {
  find: Find;
  errors: LogErrors;
  raw: boolean;
  setRaw: (raw: boolean) => void;
  wrap: boolean;
  setWrap: (wrap: boolean) => void;
  lines: LogRow[];
  name: string;
};

export function Tools(props: ToolProps) {
  const { find, errors, raw, setRaw, wrap, setWrap, lines, name } = props;
  const save = () => {
    const text = lines.map(formatLogRow).join("\n");
    const url = URL.createObjectURL(new Blob([`${text}\n`], { type: "text/plain" }));
    const link = document.createElement("a");
    link.href = url;
    link.download = `${name}.log`;
    link.click();
    URL.revokeObjectURL(url);
  };
  return (
    <div className="row end">
      <ErrorButton errors={errors} />
      {find.text ? (
        <span className="t3 s" role="status">
          {t.found(find.at, find.count)}
        </span>
      ) : null}
      <div className="in sm w-40">
        <Search className="i sm t3" aria-hidden="true" />
        <input
          type="search"
          data-find
          placeholder={t.find}
          aria-label={t.find}
          value={find.text}
          onChange={(event) => find.set(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter") find.step(event.shiftKey ? -1 : 1);
            if (event.key === "Escape") event.currentTarget.blur();
          }}
        />
      </div>
      {errors.records ? (
        <Button
          small
          icon
          look="ghost"
          aria-label={logTexts.raw}
          title={logTexts.raw}
          aria-pressed={raw}
          onClick={() => setRaw(!raw)}
        >
          <Braces className="i sm" aria-hidden="true" />
        </Button>
      ) : null}
      <Button
        small
        icon
        look="ghost"
        aria-label={t.wrap}
        title={t.wrap}
        aria-pressed={wrap}
        onClick={() => setWrap(!wrap)}
      >
        <WrapText className="i sm" aria-hidden="true" />
      </Button>
      <Button small icon look="ghost" aria-label={t.download} title={t.download} onClick={save}>
        <Download className="i sm" aria-hidden="true" />
      </Button>
    </div>
  );
}

/** How many lines are errors; leads to the first, then to the next. */
function ErrorButton({ errors }: { errors: LogErrors }) {
  if (errors.count === 0) return null;
  return (
    <Button
      small
      look="ghost"
      title={logTexts.firstError}
      aria-label={
        errors.at > 0 ? undefined : `${logTexts.firstError} (${logTexts.errors(errors.count)})`
      }
      onClick={(event) => errors.step(event.shiftKey ? -1 : 1)}
    >
      <OctagonAlert className="i sm text-st-failed" aria-hidden="true" />
      {errors.at > 0 ? logTexts.errorAt(errors.at, errors.count) : logTexts.errors(errors.count)}
    </Button>
  );
}
