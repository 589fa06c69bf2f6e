import { dateLocale, locale } from "@/locale";
import { texts } from "@/texts";

const t = texts.time;
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How long ago, in one or two words: "now", "12 min ago", "3 h ago", "2 d ago". */
export function formatAgo(then: string | number | Date, now: number): string {
  const short = formatShortAgo(then, now);
  return short === t.now ? short : t.ago(short);
}

/** As `ago`, for a column whose header says what it is. */
export function formatShortAgo(then: string | number | Date, now: number): string {
  const passed = now - new Date(then).getTime();
  if (!Number.isFinite(passed)) return "";
  if (passed < 10 * SECOND) return t.now;
  if (passed < MINUTE) return `${Math.floor(passed / SECOND)} ${t.s}`;
  if (passed < HOUR) return `${Math.floor(passed / MINUTE)} ${t.min}`;
  if (passed < DAY) return `${Math.floor(passed / HOUR)} ${t.h}`;
  return `${Math.floor(passed / DAY)} ${t.d}`;
}

/** As `ago`, of a moment that may be to come: "in 5 d". Whose clock is a little off says "now". */
export function formatRelative(then: string | number | Date, now: number): string {
  const at = new Date(then).getTime();
  return at - now < 10 * SECOND ? formatAgo(at, now) : t.ahead(formatShortAgo(now, at));
}

/** A span in milliseconds, with at most two units: "0.9 s", "38 s", "1 min 40 s", "2 d 21 h". */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) return "";
  if (ms < 9950) return `${(ms / SECOND).toFixed(1)} ${t.s}`;
  const whole = Math.round(ms / SECOND) * SECOND;
  if (whole < MINUTE) return `${whole / SECOND} ${t.s}`;
  if (whole < HOUR) return twoUnits(whole, MINUTE, t.min, SECOND, t.s);
  if (whole < DAY) return twoUnits(whole, HOUR, t.h, MINUTE, t.min);
  return twoUnits(whole, DAY, t.d, HOUR, t.h);
}

function twoUnits(ms: number, large: number, unit: string, small: number, rest: string): string {
  const whole = Math.floor(ms / large);
  const left = Math.floor((ms % large) / small);
  return left === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${left} ${rest}`;
}

/** The time between two moments; an open end counts until `now`. */
export function elapsedBetween(from?: string | null, to?: string | null, now = Date.now()): number {
  if (!from) return Number.NaN;
  return Math.max(0, (to ? new Date(to).getTime() : now) - new Date(from).getTime());
}

/* Making one costs more than all else that a row of a list does. */
const moment = new Intl.DateTimeFormat(dateLocale, { dateStyle: "medium", timeStyle: "medium" });
const hours = new Intl.DateTimeFormat(dateLocale, { hour: "numeric", minute: "2-digit" });
const days = new Intl.DateTimeFormat(dateLocale, { day: "numeric", month: "short" });

/** The exact moment, in the reader's own zone, for tooltips: "21 Nov 2026, 14:02:11". */
export function formatExact(then: string | number | Date): string {
  const date = new Date(then);
  if (Number.isNaN(date.getTime())) return "";
  return moment.format(date);
}

/** Seconds since a step began, as the log's second column shows them: "0.412", "24.77", "104.2". */
export function formatOffset(then: string, start: string): string {
  const seconds = (new Date(then).getTime() - new Date(start).getTime()) / SECOND;
  if (!Number.isFinite(seconds)) return "";
  const shown = Math.max(0, seconds);
  return shown.toFixed(shown < 10 ? 3 : shown < 100 ? 2 : 1);
}

const twoDigits = (part: number) => String(part).padStart(2, "0");

/** A day of the reader's own clock, as a field for days has it. */
export function dayOf(date: Date): string {
  return `${date.getFullYear()}-${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())}`;
}

/** A minute of the reader's own clock, as a field for day and time has it. */
export function minuteOf(date: Date): string {
  return `${dayOf(date)}T${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}`;
}

// 24 hours for everybody: columns of a log stay of one width.
const seconds = new Intl.DateTimeFormat(locale, { timeStyle: "medium" });

/** The moment by the clock, to the second: "14:02:11". */
export function formatClockSeconds(then: string | Date): string {
  const date = new Date(then);
  return Number.isNaN(date.getTime()) ? "" : seconds.format(date);
}

/** The moment by the clock; with the day, once that is not today: "14:02", "20 Nov 14:02". */
export function formatClock(then: string | number | Date, now = Date.now()): string {
  const date = new Date(then);
  if (Number.isNaN(date.getTime())) return "";
  const time = hours.format(date);
  if (date.toDateString() === new Date(now).toDateString()) return time;
  return `${days.format(date)} ${time}`;
}
