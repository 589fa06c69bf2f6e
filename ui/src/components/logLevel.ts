// What a line of a log says of itself: how serious it is, and its fields where it is a record.

export type Level = "error" | "warn" | "info" | "debug";

/** A record that a logger wrote as JSON or as key=value pairs. */
export type LogRecord = { message: string; fields: [key: string, value: string][] };

const LEVELS: Record<string, Level> = {};
for (const [level, words] of Object.entries({
  error: "error err fatal panic critical crit severe alert emerg emergency e f",
  warn: "warn warning w",
  info: "info information notice i",
  debug: "debug trace verbose d",
}))
  for (const word of words.split(" ")) LEVELS[word] = level as Level;

const IN_JSON =
  /"(?:level|severity|lvl|Level|@l|log\.level|levelname)"\s*:\s*(?:"(\w{1,12})"|(\d{1,3}))/;
const IN_PAIRS = /(?:^|\s)(?:level|lvl|severity)="?(\w{1,12})/;
/** A level near the beginning: alone in capitals, or in brackets or before a colon. */
const NEAR_BEGIN =
  /(?:^|[\s[(|<])(?:(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|PANIC|CRITICAL|SEVERE)(?=[\s\]):|>,]|$)|(?<=[[(])([Tt]race|[Dd]ebug|[Ii]nfo|[Nn]otice|[Ww]arn(?:ing)?|[Ee]rr(?:or)?|[Ff]atal|[Pp]anic|[Cc]rit(?:ical)?)(?=[\])])|(trace|debug|info|notice|warning|warn|error|fatal|panic|critical)(?=:\s))/;
/** What runtimes print on their way down. */
const CRASH =
  /^(?:panic:|fatal error:|Traceback \(most|Exception in thread|Caused by:|Unhandled |Uncaught |(?:[\w.]*\.)?\w*(?:Error|Exception)(?::| \[))/;

/** How serious a line is; undefined if it does not say. Its text has no escape sequences. */
export function levelOf(text: string): Level | undefined {
  if (text.startsWith("{")) {
    const [, word, count] = IN_JSON.exec(text) ?? [];
    if (word) return LEVELS[word.toLowerCase()];
    // As pino and bunyan count.
    if (count) return levelOfNumber(Number(count));
  }
  const pair = IN_PAIRS.exec(text);
  if (pair?.[1]) return LEVELS[pair[1].toLowerCase()];
  if (CRASH.test(text)) return "error";
  const begin = NEAR_BEGIN.exec(text.slice(0, 60));
  const word = begin?.[1] ?? begin?.[2] ?? begin?.[3];
  return word ? LEVELS[word.toLowerCase()] : undefined;
}

function levelOfNumber(count: number): Level {
  return count >= 50 ? "error" : count >= 40 ? "warn" : count >= 30 ? "info" : "debug";
}

const MESSAGES = ["message", "msg", "Message", "MESSAGE", "event", "log"];
/** Shown in columns of their own, or beside the line already. */
const SHOWN = new Set([
  ...MESSAGES,
  ..."level severity lvl Level @l log.level levelname time timestamp ts @timestamp @t".split(" "),
]);

/** The fields of a line that is a record; undefined for any other. */
export function parseRecord(text: string): LogRecord | undefined {
  return text.startsWith("{") ? parseJson(text) : parsePairs(text);
}

function parseJson(text: string): LogRecord | undefined {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof read !== "object" || read === null) return undefined;
  const all = Object.entries(read as Record<string, unknown>);
  const key = MESSAGES.find((one) => typeof (read as Record<string, unknown>)[one] === "string");
  // Any JSON may be in a log; what has neither message nor level is no record of a logger.
  if (key === undefined && !IN_JSON.test(text)) return undefined;
  return {
    message: key ? ((read as Record<string, unknown>)[key] as string) : "",
    fields: all.filter(([name]) => !SHOWN.has(name)).map(([name, value]) => [name, say(value)]),
  };
}

function say(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

const PAIR = /([\w.@-]+)=("(?:[^"\\]|\\.)*"|\S*)/g;

/** Pairs all the way, as logfmt has them: text that only contains one stays text. */
function parsePairs(text: string): LogRecord | undefined {
  if (!/^[\w.@-]+=/.test(text) || !/(?:^|\s)(?:msg|message|level|lvl)=/.test(text))
    return undefined;
  const record: LogRecord = { message: "", fields: [] };
  if (text.replace(PAIR, "").trim() !== "") return undefined;
  for (const [, key = "", quoted = ""] of text.matchAll(PAIR)) {
    const value = unquote(quoted);
    if (MESSAGES.includes(key)) record.message = value;
    else if (!SHOWN.has(key)) record.fields.push([key, value]);
  }
  return record;
}

function unquote(text: string): string {
  if (!text.startsWith('"')) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text.slice(1, -1);
  }
}
