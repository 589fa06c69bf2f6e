import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { describeError } from "@/components/States";
import { formatDuration } from "@/components/time";
import { scriptTexts as t } from "@/editor/inspector/scriptTexts";
import type { Step } from "../model/document";
import { ChoiceInput } from "./fields";
import { Group } from "./records";

type Script = NonNullable<Step["script"]>;
type Action = NonNullable<Schemas["ScriptTestRequest"]["action"]>;

/** The inputs that a test begins with: the parameters as they are written, and names to fill in. */
function sampleInput({ parameters, secrets }: Script): string {
  const invented = Object.fromEntries(Object.keys(secrets ?? {}).map((name) => [name, "example"]));
  const input = {
    parameters: parameters ?? {},
    secrets: invented,
    outputs: {},
    services: {},
    deployment: { name: "demo" },
  };
  return JSON.stringify(input, null, 2);
}

function parseInput(text: string): Schemas["ScriptInput"] | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Calls the script on the control plane with recorded inputs, in the process that agents use. */
export function ScriptTrial({ script }: { script: Script }) {
  const [text, setText] = useState(() => sampleInput(script));
  const [action, setAction] = useState<Action>("create");
  const input = parseInput(text);
  const run = useMutation({
    mutationFn: () => {
      const { source, clock } = script;
      return ask(client.POST("/api/v1/scripts/test", { body: { source, clock, action, input } }));
    },
  });
  return (
    <Group title={t.trial} hint={t.trialHint}>
      <ChoiceInput
        label={t.action}
        value={action}
        options={Object.entries(t.actions).map(([value, label]) => ({ value, label }))}
        onChange={(next) => setAction(next === "delete" ? "delete" : "create")}
      />
      <textarea
        className={`area mono ${input ? "" : "err"}`}
        rows={8}
        aria-label={t.input}
        aria-invalid={input ? undefined : true}
        spellCheck={false}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <Button
        small
        reason={input ? undefined : t.inputWrong}
        busy={run.isPending && t.running}
        onClick={() => run.mutate()}
      >
        {t.run}
      </Button>
      {run.error ? <p role="alert">{describeError(run.error).message}</p> : null}
      {run.data ? <TrialResult result={run.data} /> : null}
    </Group>
  );
}

function TrialResult({ result }: { result: Schemas["ScriptTestResult"] }) {
  const { problem, outputs, log, dropped, seconds } = result;
  const at = problem?.line ? `line ${problem.line}, column ${problem.column}: ` : "";
  return (
    <div role="status">
      <p className={problem ? "script-bad" : "t2"}>
        {problem ? `${at}${problem.message}` : t.passed(formatDuration(seconds * 1000))}
      </p>
      {log.length > 0 ? (
        <pre className="mono s whitespace-pre-wrap break-words">{log.join("\n")}</pre>
      ) : null}
      {dropped > 0 ? <p className="t3 s">{t.dropped(dropped)}</p> : null}
      {problem ? null : (
        <pre className="mono s whitespace-pre-wrap break-words">
          {JSON.stringify(outputs ?? {}, null, 2)}
        </pre>
      )}
    </div>
  );
}
