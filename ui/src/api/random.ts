/** Random bytes in hexadecimal digits. Works on plain HTTP too, unlike randomUUID. */
export function randomHex(bytes: number): string {
  const all = crypto.getRandomValues(new Uint8Array(bytes));
  return Array.from(all, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
