import { formatPercent } from "@/components/quantity";
import { locale } from "@/locale";

const GIB = 1024 ** 3;
const SECONDS = 3600;

/** Amounts of the ledger as people read them. */
export const hours = (seconds: number) => number.format(seconds / SECONDS);
export const gibHours = (byteSeconds: number) => number.format(byteSeconds / GIB / SECONDS);
export const formatAmount = (amount: number) => number.format(amount);
export const formatCost = (cost = 0, currency = "") => `${money.format(cost)} ${currency}`;

const number = {
  /** One digit behind the point, and what is less than that by its first two digits. */
  format: (value: number) => (Math.abs(value) < 1 ? small : large).format(value),
};
const large = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 });
const small = new Intl.NumberFormat(locale, { maximumSignificantDigits: 2 });
const money = new Intl.NumberFormat(locale, {
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
});

/** The first day, and the first one that is not meant, in UTC as the ledger counts; without, this month's. */
export function periodOf(name: string, now = new Date()): { from?: string; to?: string } {
  const day = (date: Date) => date.toISOString().slice(0, 10);
  const [year, month, today] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  if (name === "last")
    return {
      from: day(new Date(Date.UTC(year, month - 1, 1))),
      to: day(new Date(Date.UTC(year, month, 1))),
    };
  if (name === "week") return { from: day(new Date(Date.UTC(year, month, today - 6))) };
  return {};
}

type Weighed = { cost?: number; amounts: { cpu_seconds: number } };

/** What shares are shares of: cost where there are prices, else reserved processor time. */
export const weightOf = ({ cost, amounts }: Weighed, priced: boolean) =>
  Math.max(0, priced ? (cost ?? 0) : amounts.cpu_seconds);

/** How large a part of all is, in hundredths. */
export const formatShare = (part: number, all: number): string =>
  formatPercent(all > 0 ? part / all : 0);
