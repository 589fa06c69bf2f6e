import type { Schemas } from "@/api/client";
import { BidiSafe } from "@/components/BidiSafe";
import { CommandLine } from "@/components/CommandLine";
import { StatusMark, stateWord } from "@/components/Status";
import { nodeTexts } from "@/nodeTexts";

const t = nodeTexts.checks;

export type NodeCheck = Schemas["NodeCheck"];

const states: Record<NodeCheck["severity"], string> = {
  ok: "done",
  unknown: "unknown",
  warning: "warn",
  critical: "failed",
};

const order: NodeCheck["severity"][] = ["critical", "warning", "unknown", "ok"];

/** The worst first; what passed comes last. */
export function sortBySeverity(checks: NodeCheck[]): NodeCheck[] {
  return [...checks].sort((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity));
}

/** What the node needs, and what to do where it is missing. What passed is folded away. */
export function Checks({ checks }: { checks: NodeCheck[] }) {
  const passed = checks.filter((check) => check.severity === "ok");
  const open = sortBySeverity(checks).filter((check) => check.severity !== "ok");
  return (
    <section className="px-4 pb-3" aria-labelledby="checks">
      <h2 id="checks" className="mb-1">
        {t.title(passed.length, checks.length)}
      </h2>
      <ul className="checks">
        {open.map((check) => (
          <Check key={check.id} check={check} />
        ))}
      </ul>
      {passed.length > 0 ? (
        <details>
          <summary className="t2">{t.passed(passed.length)}</summary>
          <ul className="checks">
            {passed.map((check) => (
              <Check key={check.id} check={check} />
            ))}
          </ul>
        </details>
      ) : null}
    </section>
  );
}

/** What a check is called; people find its own word in docs and in rules. */
export const nameCheck = (id: string): string => nodeTexts.checkNames[id] ?? id;

/** The commands that a remedy names: agents put them in quotes, as in "'docker system df' shows it". */
export function commandsIn(remedy: string): string[] {
  const quoted = remedy.matchAll(/(?:^|\s)'([^']+)'(?=[\s.,;:]|$)/g);
  return [...quoted].flatMap(([, line]) => line ?? []);
}

function Check({ check }: { check: NodeCheck }) {
  return (
    <li>
      <StatusMark state={states[check.severity]}>
        <span className="vh">{`${stateWord(states[check.severity])} `}</span>
        <span title={check.id}>{nameCheck(check.id)}</span>
      </StatusMark>
      <div>
        <p>
          <BidiSafe text={check.detail} />
        </p>
        {check.remedy ? <p className="t2">{check.remedy}</p> : null}
        {commandsIn(check.remedy ?? "").map((line) => (
          <CommandLine key={line} line={line} what={nodeTexts.command} />
        ))}
      </div>
    </li>
  );
}
