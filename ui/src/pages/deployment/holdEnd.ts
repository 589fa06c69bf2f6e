/** The last day that can be chosen: RFC 3339, which the API speaks, has four digits for a year. */
export const LAST_DAY = "9999-12-31";

/** The end of a day as the API takes it; nothing of what is no day, or has more digits than it takes. */
export function endOfDay(day: string): string | undefined {
  const end = new Date(`${day}T23:59:59`);
  return /^\d{4}-/.test(day) && !Number.isNaN(end.getTime()) ? end.toISOString() : undefined;
}

/** Whether a hold can last until that day: it is to come, and can be written. */
export function isEnd(day: string, now = Date.now()): boolean {
  const end = endOfDay(day);
  return end !== undefined && Date.parse(end) > now;
}
