import type { Deployment } from "@/api/client";
import { shownState } from "@/api/deploymentState";
import { plainText } from "@/components/ansi";
import { BidiSafe } from "@/components/BidiSafe";
import { Glyph } from "@/components/Glyph";
import { stateWord } from "@/components/Status";
import { texts } from "@/texts";
import { sayFailure } from "../deployment/outcome";
import { describeTests, hasTestProblem } from "../testSummary";
import { waitsForMe } from "./filters";

export function Detail({ deployment }: { deployment: Deployment }) {
  const { node, status, tests, condition } = deployment;
  if (deployment.node_offline_since && node) {
    const away = status === "removing" ? texts.list.waiting(node) : texts.list.offline(node);
    return (
      <span className="dt off tr" data-st="offline">
        {shownState(deployment) === "offline" ? `${stateWord(status)}, ${away}` : away}
      </span>
    );
  }
  if (status === "ready" && condition !== "degraded" && hasTestProblem(tests))
    return (
      <span className="dt off tr" data-st="warn" title={tests.problem}>
        <Glyph state="warn" size="sm" />
        {describeTests(tests)}
      </span>
    );
  const said = describeState(deployment);
  return (
    <span className="dt tr" title={plainText(said)}>
      <BidiSafe text={said} />
    </span>
  );
}

function describeState(deployment: Deployment): string {
  const { status, failure, detail, services, question } = deployment;
  if (question && waitsForMe(deployment)) return `${question.step}: ${question.prompt}`;
  if ((status === "failed" || status === "stuck") && failure) return sayFailure(failure);
  if (status === "applying" || status === "undoing") {
    const count = texts.list.steps(deployment.steps_done, deployment.steps_total);
    return [deployment.steps_total > 0 ? count : "", detail].filter(Boolean).join(" · ");
  }
  if (deployment.condition === "degraded") return deployment.condition_reason ?? "";
  if (status === "ready" && services.length > 0) {
    const healthy = services.filter((service) => service.health === "healthy").length;
    const here = deployment.visitors?.reduce((sum, one) => sum + one.visitors, 0);
    const { verdict } = deployment;
    return [
      texts.list.healthy(healthy, services.length),
      here && texts.list.here(here),
      verdict && !verdict.voided_at && texts.list.qa(verdict.outcome),
    ]
      .filter(Boolean)
      .join(" · ");
  }
  return detail ?? "";
}
