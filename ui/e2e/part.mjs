// Rotation of slow stories, as internal/testpart has it for the tests in Go: a story belongs to one of
// seven parts, which its name decides, and a run has one part, which the weekday decides. The two agree
// on where a name belongs.

import { crc32 } from "node:zlib";

const PARTS = 7;
const SALT = "158901 ";

/** The part that a story belongs to, 1 to 7. */
export function partOf(name) {
  return Math.floor((crc32(SALT + name) * PARTS) / 2 ** 32) + 1;
}

/** Whether a story belongs to this run. NULLOPS_TEST_PART is the run's part; without it, all run. */
export function runsToday(name, value = process.env.NULLOPS_TEST_PART) {
  if (!value || value === "all") return true;
  if (!/^[1-7]$/.test(value))
    throw new Error(`NULLOPS_TEST_PART is “${value}”: set it to 1 to ${PARTS}, or to all`);
  return partOf(name) === Number(value);
}
