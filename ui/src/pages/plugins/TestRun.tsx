import "@/editor/editor.css";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, lazy, Suspense, useId, useState, useSyncExternalStore } from "react";
import { ApiError, ask, client, type Schemas } from "@/api/client";
import { IdempotencyKeys } from "@/api/idempotency";
import { Button } from "@/components/Button";
import { Refusal } from "@/components/Field";
import { loadChunk } from "@/components/loadChunk";
import { Sheet } from "@/components/Overlay";
import { describeError, Skeletons } from "@/components/States";
import { fromServer } from "@/editor/model/problems";
import { referenceOptions } from "@/editor/model/referenceOptions";
import { UnparsedInputs, unparsedProblem } from "@/editor/session/unparsedInputs";
import { pluginTexts as t } from "@/pages/catalogTexts";
import { texts } from "@/texts";
import { type Place, Places, Secrets, usePlaces, type Where } from "./TestPlaces";
import { TestRunResult } from "./TestRunResult";
import { type Given, nameOfTrial, pipelineOf, STEP, withParameter } from "./testPipeline";

const PluginForm = lazy(() => loadChunk(() => import("@/editor/inspector/PluginForm")));
type Plugin = Schemas["Plugin"];
type Props = { plugin: Plugin; close: () => void };

/** Runs a plugin once for real, with the values of the form made from its schema. */
export default function TestRun({ plugin, close }: Props) {
  const id = useId();
  const [place, setPlace] = useState<Place>({});
  const [given, setGiven] = useState<Given>({ parameters: {}, secrets: {} });
  const where = usePlaces(place);
  const { start, error } = useStart(plugin.name, where, given);
  const [unread] = useState(() => ({ of: new UnparsedInputs(), step: STEP }));
  const held = useSyncExternalStore(unread.of.subscribe, unread.of.get);
  // What can't be read yet would not be sent, and the run would be of something else.
  const reason = where.reason ?? (held.length > 0 ? t.trialUnreadable : undefined);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!reason && !start.isPending) start.mutate();
  };
  const problems = error instanceof ApiError ? fromServer(error.problem.problems ?? []) : [];
  const change = (next: Given) => {
    setGiven(next);
    if (start.error) start.reset();
  };
  const moveTo = (next: Place) => {
    setPlace(next);
    // Another project has other secrets; what was chosen here is not among them, or not the same one.
    if (next.project !== place.project) change({ ...given, secrets: {} });
  };
  const foot = (
    <div className="row end">
      <Button onClick={close}>{texts.close}</Button>
      <Button
        act={t.trialStart}
        look="ink"
        type="submit"
        form={id}
        reason={reason}
        busy={start.isPending && t.trialStarting}
      >
        {t.trialStart}
      </Button>
    </div>
  );
  return (
    <Sheet open narrow onClose={close} title={t.trialOf(plugin.name)} foot={foot}>
      <div className="form grow">
        <form id={id} className="col gap-4" onSubmit={submit} noValidate>
          <p className="t2">{t.trialWhat}</p>
          <Places where={where} place={place} set={moveTo} />
          <Secrets plugin={plugin} where={where} given={given} set={change} />
          <Suspense fallback={<Skeletons count={3} height={52} />}>
            <PluginForm
              schema={plugin.component.parameters}
              values={given.parameters}
              problems={[...problems, ...held.map(unparsedProblem)]}
              unread={unread}
              offersFor={(type, path) => {
                const { steps } = pipelineOf(plugin.name, given);
                const doc = { steps, comments: [] };
                const known = {
                  services: new Map(),
                  plugins: new Map([[plugin.name, plugin]]),
                  secrets: where.secrets,
                };
                return steps[0] ? referenceOptions(doc, known, steps[0], type, path) : [];
              }}
              onChange={(path, value) =>
                change({ ...given, parameters: withParameter(given.parameters, path, value) })
              }
            />
          </Suspense>
          {error && !shownAtFields(problems) ? (
            <Refusal>{describeError(error).message}</Refusal>
          ) : null}
        </form>
        {start.data ? (
          <div key={start.data.id} ref={scrollIntoView}>
            <TestRunResult id={start.data.id} />
          </div>
        ) : null}
      </div>
    </Sheet>
  );
}

/** What was started stands below a long form, and is what one wants to see now. */
const scrollIntoView = (run: HTMLElement | null) => run?.scrollIntoView({ block: "start" });

const shownAtFields = (problems: { field: string }[]) =>
  problems.length > 0 && problems.every((one) => one.field.startsWith("plugin.parameters."));

function useStart(plugin: string, where: Where, given: Given) {
  const [once] = useState(() => new IdempotencyKeys());
  const [name, setName] = useState(() => nameOfTrial(plugin));
  const start = useMutation({
    mutationFn: () => {
      const body = {
        name,
        environment: where.environment ?? "",
        pipeline: pipelineOf(plugin, given),
      };
      const path = { name: where.project ?? "" };
      const header = once.header({ path, body });
      return ask(
        client.POST("/api/v1/projects/{name}/pipeline/scratch", { params: { path, header }, body }),
      );
    },
    onSuccess: () => {
      once.done();
      setName(nameOfTrial(plugin));
    },
    onError: (error) => once.failed(error),
  });
  return { start, error: start.error };
}
