import { createContext } from "react";
import type { Problem } from "./model/problems";

/** Setting a secret from wherever one is missing. */
export const SecretActs = createContext({
  /** The secrets that would solve a problem. */
  missing: (_problem: Problem): string[] => [],
  set: (_name: string) => {},
});
