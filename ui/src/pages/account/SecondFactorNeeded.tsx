import { useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { Button } from "@/components/Button";
import { useTitle } from "@/components/Shell";
import { ownPath } from "@/pages/sign-in/SignIn";
import { signOut } from "../shell/leave";
import { StepUpQuestion } from "../shell/StepUpQuestion";
import { factorTexts } from "./factorTexts";
import { SecondFactors } from "./SecondFactors";

const t = factorTexts.needed;
const route = getRouteApi("/second-factor");

/** All that a person sees who must have a second factor and has none. */
export function SecondFactorNeeded() {
  useTitle(t.title);
  const { next } = route.useSearch();
  const router = useRouter();
  const cache = useQueryClient();
  const go = () => {
    cache.clear();
    router.history.push(ownPath(next));
  };
  return (
    <main className="body">
      <div className="sheetpage col gap-6">
        <h1>{t.title}</h1>
        <p>{t.why}</p>
        <SecondFactors done={go} />
        <span className="row">
          <Button onClick={signOut}>{t.signOut}</Button>
        </span>
      </div>
      {/* A session that was open when the rule came may be old. */}
      <StepUpQuestion />
    </main>
  );
}
