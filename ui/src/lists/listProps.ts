import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";

export type Column<T> = {
  head: string;
  cell: (row: T) => ReactNode;
  /** Left out below 1180 px, where columns have no room. */
  wide?: boolean;
  /** Numbers stand at the right. */
  right?: boolean;
};

/** A select above the list. Its key is its URL parameter. */
export type ListFilter<T> = {
  key: string;
  label: string;
  any: string;
  of: (row: T) => string | string[];
  say?: (value: string) => string;
};

export type ListProps<T> = {
  title: string;
  query: UseQueryResult<T[]>;
  rowKey: (row: T) => string;
  columns: Column<T>[];
  /** The text that the search looks in. */
  text: (row: T) => string;
  filters?: ListFilter<T>[];
  unread: string;
  emptyTitle: string;
  empty: ReactNode;
  /** The page's one act. With a reason it is shown as not possible, and why. */
  add?: { label: string; run: () => void; reason?: string };
  /** Beside the title: "Live". */
  beside?: ReactNode;
  /** More in the bar above: a second act, a choice. */
  bar?: ReactNode;
  /** Between the bar and the filters: tabs, a notice. */
  above?: ReactNode;
  /** Below the rows, or what stands in their place: what belongs to the page and is none of them. */
  below?: ReactNode;
  /** Below the list: sheets and questions. */
  children?: ReactNode;
};
