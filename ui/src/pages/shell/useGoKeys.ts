import { useSuspenseQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { me } from "@/api/queries/common";
import { ignoresKey } from "@/components/Shell";
import { placesFor } from "./navigation";

/** How long the second letter may take, in ms. */
const PATIENCE = 1500;

/** Ctrl K anywhere, and G with the letter of a page outside fields. */
export function useGoKeys(palette: () => void) {
  const navigate = useNavigate();
  const { data: person } = useSuspenseQuery(me);
  const begun = useRef(0);
  useEffect(() => {
    const places = placesFor(person.role === "admin");
    const press = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
        // A shell deletes to the line's end with it, as long as there is one.
        if ((event.target as Element).closest?.("[data-terminal]:not([data-ended])")) return;
        event.preventDefault();
        palette();
        return;
      }
      if (ignoresKey(event)) return;
      const key = event.key.toLowerCase();
      const second = Date.now() - begun.current < PATIENCE;
      begun.current = key === "g" && !second ? Date.now() : 0;
      const place = second ? places.find((one) => one.key === key) : undefined;
      if (!place) return;
      // The page's own single keys must not act on the second letter.
      event.preventDefault();
      event.stopImmediatePropagation();
      void navigate({ to: place.to });
    };
    window.addEventListener("keydown", press, true);
    return () => window.removeEventListener("keydown", press, true);
  }, [navigate, palette, person.role]);
}
