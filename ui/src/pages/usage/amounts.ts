import { locale } from "@/locale";

const GIB = 1024 ** 3;
const SECONDS = 3600;

/** Amounts of the ledger as people read them. */
export const hours = (seconds: number) => number.format(seconds / SECONDS);
export const gibHours = (byteSeconds: number) => number.format(byteSeconds / GIB / SECONDS);
export const formatCost = (cost = 0, currency = "") => `${money.format(cost)} ${currency}`;

const number = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 });
const money = new Intl.NumberFormat(locale, {
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
});
