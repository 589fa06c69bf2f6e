import { useEffect, useState } from "react";

const KEY = "nullops.theme";

export type Theme = "light" | "dark";

function currentTheme(): Theme {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** The theme in use, and a way to the other one. The system decides until a person did. */
export function useTheme(): [Theme, () => void] {
  const [theme, setTheme] = useState<Theme>(currentTheme);
  useEffect(() => {
    const list = window.matchMedia("(prefers-color-scheme: dark)");
    const change = () => setTheme(currentTheme());
    list.addEventListener("change", change);
    return () => list.removeEventListener("change", change);
  }, []);
  const toggle = () => {
    const next = currentTheme() === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // Storage is off: the choice holds until the page is closed.
    }
    setTheme(next);
  };
  return [theme, toggle];
}
