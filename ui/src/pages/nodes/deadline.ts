const two = (count: number) => String(count).padStart(2, "0");

/** A moment as a field for date and time has it, by the reader's clock; "" for none. */
export function toField(at: string | undefined): string {
  if (!at) return "";
  const date = new Date(at);
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-");
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** What the field means: a moment, none when it is empty, or that it is over already. */
export function fromField(text: string, now: number): { deadline?: string; past?: true } {
  if (text === "") return {};
  const at = new Date(text).getTime();
  return at > now ? { deadline: new Date(at).toISOString() } : { past: true };
}
