import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import type { Schemas } from "@/api/client";
import { stepTests } from "@/api/queries/deployments";
import { BidiSafe } from "@/components/BidiSafe";
import { Button } from "@/components/Button";
import { Skeletons } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { describeTests, testState } from "../testSummary";
import { testTexts as t } from "../testTexts";
import { ReadFailed } from "./ReadFailed";

type Summary = Schemas["TestSummary"];
type Report = Schemas["TestReport"];

/** What the tests of a step came to. What failed is read when somebody asks for it. */
export function TestResults(props: { id: string; run: number; step: string; tests: Summary }) {
  const { id, run, step, tests } = props;
  const [open, setOpen] = useState(false);
  const list = useId();
  return (
    <section className="px-4 pb-2 flex flex-col gap-2" aria-label={t.title(step)}>
      <div className="row wrap">
        <TestNumbers tests={tests} />
        {tests.failed > 0 ? (
          <Button small aria-expanded={open} aria-controls={list} onClick={() => setOpen(!open)}>
            {open ? t.hide : t.show}
          </Button>
        ) : null}
      </div>
      {open ? <Failures id={id} run={run} step={step} list={list} /> : null}
    </section>
  );
}

/** The numbers, and why there are none. */
export function TestNumbers({ tests }: { tests: Summary }) {
  return (
    <>
      <StatusMark state={testState(tests)}>{describeTests(tests)}</StatusMark>
      {tests.problem ? (
        <span className="t2 wrap-anywhere">
          <BidiSafe text={tests.problem} />
        </span>
      ) : null}
      {tests.marked && tests.failed > 0 ? <span className="t3">{t.marked}</span> : null}
    </>
  );
}

function Failures(props: { id: string; run: number; step: string; list: string }) {
  const query = useQuery(stepTests(props.id, props.run, props.step));
  if (!query.data)
    return query.isError ? <ReadFailed what={t.unread} query={query} /> : <Skeletons count={2} />;
  return (
    <div id={props.list} className="max-h-80 overflow-auto">
      <FailedTests report={query.data} />
    </div>
  );
}

/** Each test that failed, with what the runner says of it behind its name. */
export function FailedTests({ report }: { report: Report }) {
  const more = report.summary.failed - report.failures.length;
  return (
    <>
      <ul className="flex flex-col gap-1">
        {report.failures.map((failure, index) => (
          <li key={index}>
            <Failure failure={failure} />
          </li>
        ))}
      </ul>
      {more > 0 ? <p className="t3 pt-1">{t.more(more)}</p> : null}
      {more <= 0 && report.truncated ? <p className="t3 pt-1">{t.shortened}</p> : null}
    </>
  );
}

function Failure({ failure: { suite, name, message } }: { failure: Schemas["TestFailure"] }) {
  const title = (
    <>
      <span className="mono wrap-anywhere">
        <BidiSafe text={name || suite || t.unnamed} />
      </span>
      {name && suite ? (
        <span className="t3 wrap-anywhere">
          {" "}
          <BidiSafe text={suite} />
        </span>
      ) : null}
    </>
  );
  if (!message) return title;
  return (
    <details>
      <summary>{title}</summary>
      <pre className="caplog">
        <BidiSafe text={message} />
      </pre>
    </details>
  );
}
