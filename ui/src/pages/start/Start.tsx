import { Link, useNavigate } from "@tanstack/react-router";
import { Button, buttonClass } from "@/components/Button";
import { Top, useTitle } from "@/components/Shell";
import { ErrorState, Skeletons } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { startTexts as t } from "@/startTexts";
import { NotFound } from "../shell/Problems";
import { useMayAdmin } from "../shell/useLack";
import { dismissStart } from "./dismissed";
import { type StartStep, startSteps, type Way } from "./steps";
import { useWorld } from "./useWorld";

/** From an empty installation to the first URL. */
export function Start() {
  useTitle(t.title);
  const reason = useMayAdmin();
  if (reason) return <NotFound />;
  return <Guide />;
}

function Guide() {
  const navigate = useNavigate();
  const { world, failed } = useWorld();
  const steps = world ? startSteps(world) : [];
  // Opening the URL is the reward; it can't be seen from here whether it was taken.
  const counted = steps.filter((step) => step.key !== "open");
  const done = counted.filter((step) => step.done).length;
  const leave = () => void navigate({ to: "/deployments", search: {} });
  return (
    <>
      <Top>
        <h1 className="tr">{t.title}</h1>
        {world ? <span className="t2 nw hide-m">{t.done(done, counted.length)}</span> : null}
        <div className="end row hide-m">
          <Button
            look="ghost"
            onClick={() => {
              dismissStart();
              leave();
            }}
          >
            {t.dismiss}
          </Button>
          <Button onClick={leave}>{t.leave}</Button>
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

function Steps({ steps }: { steps: StartStep[] }) {
  const next = steps.findIndex((step) => !step.done);
  return (
    <div className="sheetpage">
      <p className="t2">{steps[next]?.key === "open" ? t.allDone : t.resume}</p>
      <ol className="start">
        {steps.map((step, at) => (
          <Line key={step.key} step={step} number={at + 1} next={at === next} />
        ))}
      </ol>
    </div>
  );
}

function Line({ step, number, next }: { step: StartStep; number: number; next: boolean }) {
  const state = step.done ? "done" : step.waiting ? "queued" : "pending";
  const word = step.done
    ? t.states.done
    : step.waiting
      ? t.states.wait
      : next
        ? t.states.now
        : t.states.later;
  return (
    <li
      className="startstep"
      data-next={next || undefined}
      aria-current={next ? "step" : undefined}
    >
      <span className="t3 num">{number}</span>
      <div className="col grow gap-1">
        <span className="row">
          <h2>{step.title}</h2>
          <StatusMark state={state} small>
            {word}
          </StatusMark>
        </span>
        <span className="t2 wrap">{step.text}</span>
      </div>
      {step.way && !(step.done && step.key !== "open") ? (
        <Go way={step.way} look={next ? "ink" : "plain"} />
      ) : null}
    </li>
  );
}

function Go({ way, look }: { way: Way; look: "ink" | "plain" }) {
  const classes = buttonClass(look);
  if (way.kind === "url")
    return (
      <a className={classes} href={way.url} target="_blank" rel="noreferrer">
        {way.label}
      </a>
    );
  if (way.kind === "pipeline")
    return (
      <Link className={classes} to="/projects/$name/pipeline" params={{ name: way.project }}>
        {way.label}
      </Link>
    );
  if (way.kind === "deployment")
    return (
      <Link className={classes} to="/d/$id/{-$tab}" params={{ id: way.id }}>
        {way.label}
      </Link>
    );
  return (
    <Link className={classes} to={way.to} search={(way.add ? { add: true } : {}) as never}>
      {way.label}
    </Link>
  );
}
