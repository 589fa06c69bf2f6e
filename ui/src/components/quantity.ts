import { locale } from "@/locale";

/* How amounts are worded; `internal/quantity` words those of the API and the CLI by the same rules. */

const three = new Intl.NumberFormat(locale, { maximumSignificantDigits: 3 });

/** Bytes as people say them: "148 MB". Decimal units, as registries use. */
export function formatBytes(count: number): string {
  // What is measured by the second has a long tail of digits.
  if (count < 999.5) return `${Number(count.toFixed(count < 10 ? 1 : 0))} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let value = count;
  let unit = "B";
  for (const next of units) {
    if (value < 999.5) break;
    value /= 1000;
    unit = next;
  }
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

/** A measured number with at most three digits that mean something: "1.5", "0.25", "0.003". Less than a ten-thousandth is noise. */
export function formatNumber(count: number): string {
  return three.format(Number(count.toFixed(4)));
}

/** A number of things: "1,024". */
export const formatCount = (count: number): string => count.toLocaleString(locale);

/** A limit in the unit in which its field is filled in: "512 MiB". */
export const formatLimit = (mib: number): string => `${mib} MiB`;

/** A share in whole hundredths, "83 %", and "<1 %" for what is little but not nothing. */
export function formatPercent(share: number): string {
  const hundredths = 100 * share;
  if (hundredths > 0 && hundredths < 1) return "<1 %";
  return `${formatCount(Math.round(hundredths))} %`;
}
