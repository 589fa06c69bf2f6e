import {
  Braces,
  Download,
  ListFilter,
  type LucideIcon,
  OctagonAlert,
  Rows3,
  Search,
  WrapText,
} from "lucide-react";
import { useRef } from "react";
import { logTexts as t } from "@/components/logTexts";
import { plainText } from "./ansi";
import { Button, buttonClass } from "./Button";
import type { LogRow } from "./LogLine";
import { usePageAction } from "./pageActions";
import { AROUND, type Find } from "./useLogFind";
import type { LogLayout } from "./useLogLayout";
import type { LineSteps } from "./useLogSteps";

/** A line as the file has it: when, whose where several are in one, and what. */
export function formatLogRow({ at, source, text }: LogRow): string {
  return [at, source, plainText(text)].filter((part) => part !== undefined).join(" ");
}

type ToolProps = {
  find: Find;
  layout: LogLayout;
  raw: boolean;
  setRaw: (raw: boolean) => void;
  wrap: boolean;
  setWrap: (wrap: boolean) => void;
  lines: LogRow[];
  name: string;
  /** Where all of the log is, of which only the end may be here, and what that is called. */
  whole?: WholeLog;
};

export type WholeLog = { address: string; label: string };

export function Tools(props: ToolProps) {
  const { find, layout, raw, setRaw, wrap, setWrap, lines, name, whole } = props;
  const { scan, rows, errors } = layout;
  const hides = find.only && !find.far && find.hits;
  const folds = rows.lines > rows.at.length;
  const save = () => saveLines(hides ? listShown(layout) : lines, name);
  return (
    <div className="row end">
      <ErrorButton errors={errors} />
      <FindField find={find} found={layout.found} />
      {layout.groupable ? (
        <Tool
          label={t.group}
          icon={Rows3}
          pressed={layout.grouped}
          press={() => layout.setGrouped(!layout.grouped)}
        />
      ) : null}
      {scan.records || folds || raw ? (
        <Tool label={t.raw} icon={Braces} pressed={raw} press={() => setRaw(!raw)} />
      ) : null}
      <Tool label={t.wrap} icon={WrapText} pressed={wrap} press={() => setWrap(!wrap)} />
      {whole && !hides ? (
        <DownloadWhole {...whole} />
      ) : (
        <Tool
          label={hides ? t.downloadOnly(rows.lines) : t.download}
          icon={Download}
          press={save}
        />
      )}
    </div>
  );
}

/** The one download of a log that is read in parts: the server has the lines that are not here. */
function DownloadWhole({ address, label }: WholeLog) {
  const self = useRef<HTMLAnchorElement>(null);
  usePageAction({ label, run: () => self.current?.click() });
  return (
    <a
      ref={self}
      className={buttonClass("ghost", true, true)}
      href={address}
      aria-label={label}
      title={label}
      download
    >
      <Download className="i sm" aria-hidden="true" />
    </a>
  );
}

/** The lines that are shown, those folded into one too. */
export function listShown({ scan, rows }: LogLayout): LogRow[] {
  return rows.at.flatMap((first, row) => {
    if (first < 0) return [];
    const { source } = scan.lines[first] as LogRow;
    return scan.lines
      .slice(first, (rows.last[row] ?? first) + 1)
      .filter((line) => line.source === source);
  });
}

function saveLines(lines: LogRow[], name: string) {
  const text = lines.map(formatLogRow).join("\n");
  const url = URL.createObjectURL(new Blob([`${text}\n`], { type: "text/plain" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = `${name}.log`;
  link.click();
  URL.revokeObjectURL(url);
}

/** One box: what is looked for, whether only that is shown, and how much around it. */
function FindField({ find, found }: { find: Find; found: LineSteps }) {
  const searching = find.text !== "";
  return (
    <>
      {searching ? (
        <span className="t3 s nw" role="status">
          {t.found(found.at, found.count)}
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
          maxLength={200}
          onChange={(event) => find.set(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter") found.step(event.shiftKey ? -1 : 1);
            if (event.key === "Escape") event.currentTarget.blur();
          }}
        />
      </div>
      {searching || find.only ? (
        <Tool
          label={t.only}
          icon={ListFilter}
          pressed={find.only}
          press={() => find.setOnly(!find.only)}
        />
      ) : null}
      {searching && find.only && !find.far ? (
        <select
          className="in sm"
          aria-label={t.around}
          value={find.around}
          onChange={(event) => find.setAround(Number(event.target.value))}
        >
          {AROUND.map((count) => (
            <option key={count} value={count}>
              {t.aroundBy(count)}
            </option>
          ))}
        </select>
      ) : null}
    </>
  );
}

type IconProps = { label: string; icon: LucideIcon; pressed?: boolean; press: () => void };

function Tool({ label, icon: Icon, pressed, press }: IconProps) {
  return (
    <Button
      small
      icon
      look="ghost"
      aria-label={label}
      title={label}
      aria-pressed={pressed}
      onClick={press}
    >
      <Icon className="i sm" aria-hidden="true" />
    </Button>
  );
}

/** How many lines are errors; leads to the first, then to the next. */
function ErrorButton({ errors }: { errors: LineSteps }) {
  if (errors.count === 0) return null;
  return (
    <Button
      small
      look="ghost"
      title={t.firstError}
      aria-label={
        errors.at > 0 ? undefined : `${t.errors(errors.count)}, ${t.firstError.toLowerCase()}`
      }
      onClick={(event) => errors.step(event.shiftKey ? -1 : 1)}
    >
      <OctagonAlert className="i sm text-st-failed" aria-hidden="true" />
      {errors.at > 0 ? t.errorAt(errors.at, errors.count) : t.errors(errors.count)}
    </Button>
  );
}
