import { Download, Search, WrapText } from "lucide-react";
import { texts } from "@/texts";
import { plainText } from "./ansi";
import { Button } from "./Button";
import type { LogRow } from "./LogLine";
import type { Find } from "./useLogFind";

const t = texts.log;

/** A line as the file has it: when, whose where several are in one, and what. */
export function formatLogRow({ at, source, text }: LogRow): string {
  return [at, source, plainText(text)].filter((part) => part !== undefined).join(" ");
}

type ToolProps = {
  find: Find;
  wrap: boolean;
  setWrap: (wrap: boolean) => void;
  lines: LogRow[];
  name: string;
};

export function Tools({ find, wrap, setWrap, lines, name }: ToolProps) {
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
