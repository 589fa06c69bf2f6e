import { KeyRound } from "lucide-react";
import { useContext } from "react";
import { Button } from "@/components/Button";
import { secretTexts } from "@/forms/secretTexts";
import type { Problem } from "./model/problems";
import { SecretActs } from "./secretActs";

/** Sets the secret that a problem is about; nothing where it is about none. */
export function SetSecretButton({ problem }: { problem: Problem }) {
  const acts = useContext(SecretActs);
  return acts.missing(problem).map((name) => (
    <Button key={name} small onClick={() => acts.set(name)}>
      <KeyRound className="i sm" aria-hidden="true" /> {secretTexts.set(name)}
    </Button>
  ));
}
