import { useState } from "react";

const PALETTE = "nullops.palette";
/** From so many steps on, a drawing that is opened needs the room more than the list of parts does. */
const MANY = 4;

/** Which of the parts beside the canvas are open. What a person chose holds from then on. */
export function usePanes(steps: number) {
  const [palette, setPalette] = useState(() => {
    const chosen = stored();
    return chosen === undefined ? steps < MANY : chosen;
  });
  // Without a step, the inspector has only the pipeline's own settings to show.
  const [about, setAbout] = useState(false);
  return {
    palette,
    about,
    showAbout: setAbout,
    showPalette: (open: boolean) => {
      setPalette(open);
      store(open);
    },
  };
}

export type Panes = ReturnType<typeof usePanes>;

function stored(): boolean | undefined {
  try {
    const value = localStorage.getItem(PALETTE);
    return value === null ? undefined : value === "open";
  } catch {
    return undefined;
  }
}

function store(open: boolean) {
  try {
    localStorage.setItem(PALETTE, open ? "open" : "closed");
  } catch {
    // Storage is off: the choice holds until the page is left.
  }
}
