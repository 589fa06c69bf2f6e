import { locale } from "@/locale";

/** "1 node", "2 nodes", "1,024 nodes". */
export const plural = (count: number, one: string, many = `${one}s`) =>
  `${count.toLocaleString(locale)} ${count === 1 ? one : many}`;
