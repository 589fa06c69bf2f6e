import type { Catalogue } from "./catalogue";
import { type Doc, readField, stepOf } from "./document";
import { refsIn } from "./expressions";
import type { Problem } from "./problems";

/** The secrets that the project lacks, of those that a problem is about. */
export function missingSecrets(problem: Problem, doc: Doc, catalogue: Catalogue): string[] {
  const step = problem.code === "unknown_secret" && stepOf(doc, problem.step ?? "");
  if (!step) return [];
  const names = refsIn(readField(step, problem.field)).flatMap((ref) =>
    ref.scope === "secrets" ? ref.name : [],
  );
  return [...new Set(names)].filter((name) => !catalogue.secrets.includes(name));
}
