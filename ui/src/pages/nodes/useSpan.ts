import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";
import { SPANS, type Span } from "./Curves";

const isSpan = (text: unknown): text is Span =>
  typeof text === "string" && Object.hasOwn(SPANS, text);

/** How far back the page's curves go: in the address, so that a link shows another person the same. */
export function useSpan(): [Span, (span: Span) => void] {
  const { span } = useSearch({ strict: false }) as { span?: unknown };
  const navigate = useNavigate();
  const set = useCallback(
    (next: Span) =>
      void navigate({
        to: ".",
        search: ((before: object) => ({
          ...before,
          span: next === "hour" ? undefined : next,
        })) as never,
        replace: true,
      }),
    [navigate],
  );
  return [isSpan(span) ? span : "hour", set];
}
