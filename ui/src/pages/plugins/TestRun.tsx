import "@/editor/editor.css";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, lazy, Suspense, useId, useState, useSyncExternalStore } from "react";
import { ApiError, ask, client, type Schemas } from "@/api/client";
import { IdempotencyKeys } from "@/api/idempotency";
import { secrets as secretsOf } from "@/api/queries/admin";
import { environments, projects } from "@/api/queries/catalog";
import { Button } from "@/components/Button";
import { Refusal } from "@/components/Field";
import { loadChunk } from "@/components/loadChunk";
import { Sheet } from "@/components/Overlay";
import { describeError, ErrorState, Skeletons } from "@/components/States";
import { fromServer } from "@/editor/model/problems";
import { referenceOptions } from "@/editor/model/referenceOptions";
import { UnparsedInputs, unparsedProblem } from "@/editor/session/unparsedInputs";
import { UnreadSource } from "@/forms/UnreadSource";
import { secretTexts, pluginTexts as t } from "@/pages/catalogTexts";
import { texts } from "@/texts";
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

type Place = { project?: string; environment?: string };
type Where = ReturnType<typeof usePlaces>;

/** Where it can run, and which secrets are there; the first of each until another is chosen. */
function usePlaces(chosen: Place) {
  const of = useQuery(projects);
  const on = useQuery(environments);
  const project = chosen.project ?? of.data?.[0]?.name;
  const environment = chosen.environment ?? on.data?.[0]?.name;
  const sealed = useQuery(secretsOf(project ?? ""));
  const secrets = sealed.data?.map((one) => one.name) ?? [];
  const pending = of.isPending || on.isPending;
  const reason = project && environment ? undefined : pending ? t.trialReading : t.trialNowhere;
  return { of, on, sealed, project, environment, secrets, reason };
}

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

function Places({ where, place, set }: { where: Where; place: Place; set: (to: Place) => void }) {
  const error = where.of.error ?? where.on.error;
  const again = () => void Promise.all([where.of.refetch(), where.on.refetch()]);
  if (error) return <ErrorState what={t.trialUnread} error={error} retry={again} />;
  return (
    <div className="two">
      <Choice
        label={t.trialProject}
        hint={t.trialProjectHint}
        all={where.of.data?.map((one) => one.name) ?? []}
        value={where.project}
        set={(project) => set({ ...place, project })}
      />
      <Choice
        label={t.trialEnvironment}
        all={where.on.data?.map((one) => one.name) ?? []}
        value={where.environment}
        set={(environment) => set({ ...place, environment })}
      />
    </div>
  );
}

type SecretsProps = { plugin: Plugin; where: Where; given: Given; set: (given: Given) => void };

/** What the plugin reads as secrets: the project's are chosen by name, none is ever typed here. */
function Secrets({ plugin, where, given, set }: SecretsProps) {
  const reads = plugin.component.secrets ?? [];
  if (reads.length === 0) return null;
  return (
    <>
      {reads.map(({ name, description, required }) => (
        <Choice
          key={name}
          label={required ? name : t.trialMay(name)}
          hint={description}
          none={t.trialNoSecret}
          all={where.secrets}
          value={given.secrets[name]}
          set={(secret) => set({ ...given, secrets: { ...given.secrets, [name]: secret } })}
        />
      ))}
      <UnreadSource what={secretTexts.unread} of={where.sealed} />
    </>
  );
}

type ChoiceProps = {
  label: string;
  hint?: string;
  none?: string;
  all: string[];
  value?: string;
  set: (value: string) => void;
};

function Choice({ label, hint, none, all, value, set }: ChoiceProps) {
  const id = useId();
  return (
    <div className="field">
      <label className="lbl" htmlFor={id}>
        {label}
      </label>
      <select
        id={id}
        className="pick"
        value={value ?? ""}
        aria-describedby={hint ? `${id}-more` : undefined}
        onChange={(event) => set(event.target.value)}
      >
        {none ? <option value="">{none}</option> : null}
        {all.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      {hint ? (
        <div className="hint" id={`${id}-more`}>
          {hint}
        </div>
      ) : null}
    </div>
  );
}
