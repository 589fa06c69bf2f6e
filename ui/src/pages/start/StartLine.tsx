import "./start.css";
import { Link } from "@tanstack/react-router";
import { buttonClass } from "@/components/Button";
import { CommandLine } from "@/components/CommandLine";
import { StatusMark } from "@/components/Status";
import { startTexts as t } from "@/pages/start/startTexts";
import type { StartStep, Way } from "./startStep";

const glyphs = { wait: "queued", stuck: "stuck", failed: "failed" };

/** Glyph and word of a step: what it is by itself, or whose turn it is. */
function stateOf({ done, state, before }: StartStep, next: boolean): [string, string] {
  if (before && !done) return ["pending", t.states.todo];
  if (done) return ["done", t.states.done];
  if (state) return [glyphs[state], t.states[state]];
  return ["pending", next ? t.states.now : t.states.later];
}

type Props = { step: StartStep; number: number; next: boolean };

/** One step: what it is, how it is, and the way on. */
export function StartLine({ step, number, next }: Props) {
  const [state, word] = stateOf(step, next);
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
        {step.parts ? <Parts parts={step.parts} /> : null}
        {step.others ? <Others /> : null}
      </div>
      {step.done && step.key !== "open" ? null : <Ways step={step} next={next} />}
    </li>
  );
}

function Ways({ step: { way, instead }, next }: { step: StartStep; next: boolean }) {
  if (!way) return null;
  return (
    <div className="row flex-wrap max-[719px]:w-full">
      {instead ? <Go way={instead} look="plain" /> : null}
      <Go way={way} look={next ? "ink" : "plain"} />
    </div>
  );
}

/** What is known of something under way. */
function Parts({ parts }: { parts: NonNullable<StartStep["parts"]> }) {
  return (
    <ul className="row flex-wrap gap-3">
      {parts.map(({ label, done }) => (
        <li key={label}>
          <StatusMark state={done ? "done" : "pending"} small>
            <span className="vh">{done ? t.states.done : t.states.wait}</span>
            <span className={done ? "t2" : "t3"}>{label}</span>
          </StatusMark>
        </li>
      ))}
    </ul>
  );
}

/** The ways that begin outside the browser, as lines to copy. */
function Others() {
  const o = t.others;
  return (
    <details className="fold pt-1">
      <summary>{o.title}</summary>
      <div className="col gap-3 pt-1">
        <p className="t2">{o.what}</p>
        <CommandLine
          label={o.login}
          line={`nullops login ${window.location.origin}`}
          what={o.copy}
        />
        <CommandLine label={o.compose} line={o.composeLine} hint={o.composeHint} what={o.copy} />
        <CommandLine label={o.shop} line={o.shopLine} hint={o.shopHint} what={o.copy} />
      </div>
    </details>
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
