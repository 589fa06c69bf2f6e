import "./start.css";
import { useNavigate } from "@tanstack/react-router";
import { Button } from "@/components/Button";
import { Top, useTitle } from "@/components/Shell";
import { ErrorState, Skeletons } from "@/components/States";
import { startTexts as t } from "@/pages/start/startTexts";
import { NotFound } from "../shell/ErrorPages";
import { useReasonNotAdmin } from "../shell/usePermissionReason";
import { dismissStart } from "./dismissed";
import { StartLine } from "./StartLine";
import type { StartStep } from "./startStep";
import { progress, startSteps } from "./steps";
import { useStartState } from "./useStartState";

/** From an empty installation to the first URL. */
export function Start() {
  useTitle(t.title);
  const reason = useReasonNotAdmin();
  if (reason) return <NotFound />;
  return <Guide />;
}

function Guide() {
  const navigate = useNavigate();
  const { world, failed } = useStartState();
  const steps = world ? startSteps(world) : [];
  const { done, all, minutes } = progress(steps);
  const leave = () => void navigate({ to: "/deployments", search: {} });
  return (
    <>
      <Top>
        <h1 className="tr">{t.title}</h1>
        {world ? (
          <span className="t2 nw hide-m">
            {t.done(done, all)}
            {minutes > 0 ? `, ${t.left(minutes)}` : null}
          </span>
        ) : null}
        <div className="end row hide-m">
          <Button
            act={t.dismiss}
            look="ghost"
            onClick={() => {
              dismissStart();
              leave();
            }}
          >
            {t.dismiss}
          </Button>
          <Button act={t.leave} onClick={leave}>
            {t.leave}
          </Button>
        </div>
      </Top>
      <div className="body">
        {failed ? (
          <ErrorState what={t.unread} error={failed.error} retry={() => void failed.refetch()} />
        ) : null}
        {world || failed ? null : <Skeletons count={7} height={72} />}
        {world ? <Steps steps={steps} /> : null}
      </div>
    </>
  );
}

/** What nothing waits for stands apart; the first of the others that is not done is the next. */
function Steps({ steps }: { steps: StartStep[] }) {
  const before = steps.filter((step) => step.before);
  const way = steps.filter((step) => !step.before);
  const next = way.findIndex((step) => !step.done);
  const ready = steps.every((step) => step.done || step.key === "open");
  return (
    <div className="sheetpage">
      <p className="t2">{ready ? t.allDone : t.resume}</p>
      <List steps={before} from={1} label={t.before} />
      <List steps={way} from={before.length + 1} next={next} label={t.title} />
    </div>
  );
}

type ListProps = { steps: StartStep[]; from: number; next?: number; label: string };

function List({ steps, from, next, label }: ListProps) {
  return (
    <ol className="start" aria-label={label}>
      {steps.map((step, at) => (
        <StartLine key={step.key} step={step} number={from + at} next={at === next} />
      ))}
    </ol>
  );
}
