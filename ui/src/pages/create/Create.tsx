import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type KeyboardEvent, type ReactNode, useMemo, useRef, useState } from "react";
import { ask, client, idempotencyKey, type Schemas } from "@/api/client";
import { mergeOne } from "@/api/list";
import {
  environments as environmentsQuery,
  projects as projectsQuery,
} from "@/api/queries/catalog";
import { isSilence } from "@/api/queries/common";
import { deployments } from "@/api/queries/deployments";
import { Button } from "@/components/Button";
import { Field } from "@/components/Field";
import { isName, nameFromTag } from "@/components/names";
import { Sheet } from "@/components/Overlay";
import { Select } from "@/components/Select";
import { useTitle } from "@/components/Shell";
import { EmptyState, ErrorState, Skeletons } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { deployTexts } from "@/deployTexts";
import { texts } from "@/texts";
import { useLackToCreateIn } from "../shell/useLack";
import { Branch } from "./Branch";
import { CloneDiffers } from "./CloneDiffers";
import { Deadline, deadlineProblem, deadlineSeconds } from "./Deadline";
import { Preflight, usePreflight } from "./Preflight";
import { cloneSheet, templates as templatesQuery } from "./queries";
import { countRefusals, nothingRefused, type Refusal, sortRefusal } from "./refusal";
import { SaveTemplate } from "./SaveTemplate";
import { Summary } from "./Summary";
import { TemplateNotice, whyNoTemplate } from "./TemplateNotice";
import { useVersions, Versions } from "./Versions";

const t = texts.create;
const route = getRouteApi("/app/deployments/new");

type Project = Schemas["Project"];
type Environment = Schemas["Environment"];

/** The right versions in under 20 seconds. */
export function Create() {
  useTitle(t.title);
  const navigate = route.useNavigate();
  const projects = useQuery(projectsQuery);
  const environments = useQuery(environmentsQuery);
  const close = () => void navigate({ to: "/deployments", search: {} });
  const { from } = route.useSearch();
  const clone = useQuery({ ...cloneSheet(from ?? ""), enabled: Boolean(from) });
  const error = projects.error ?? environments.error ?? clone.error;
  if (projects.data && environments.data && (!from || clone.data))
    return (
      <Form
        key={from}
        clone={clone.data}
        projects={projects.data.filter(usable)}
        environments={environments.data}
        close={close}
      />
    );
  return (
    <Sheet open onClose={close} title={t.title}>
      {error ? (
        <ErrorState
          what={t.unread}
          error={error}
          retry={() => {
            void projects.refetch();
            void environments.refetch();
            if (from) void clone.refetch();
          }}
        />
      ) : (
        <Skeletons count={6} height={52} />
      )}
    </Sheet>
  );
}

function usable(project: Project): boolean {
  return Boolean(project.pipeline_version);
}

type FormProps = {
  projects: Project[];
  environments: Environment[];
  close: () => void;
  /** What is cloned, and how the clone would differ. */
  clone?: Schemas["CloneSheet"];
};

function Form({ projects, environments, close, clone }: FormProps) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const project =
    projects.find((one) => one.name === (search.project ?? clone?.source.project)) ??
    only(projects.filter((one) => one.can_create)) ??
    only(projects);
  const environment =
    environments.find((one) => one.name === (search.env ?? clone?.source.environment)) ??
    only(environments.filter((one) => one.can_create)) ??
    only(environments);
  const templates = useQuery({ ...templatesQuery(project?.name ?? ""), enabled: Boolean(project) });
  const template = templates.data?.find((one) => one.name === search.template);
  const begun = useMemo(() => begin(project, clone, template), [project, clone, template]);
  const versions = useVersions(project, begun);
  const [wait, setWait] = useState<boolean>();
  const waits = wait ?? template?.wait ?? false;
  const [typed, setTyped] = useState<string>();
  const [minutes, setMinutes] = useState("");
  const [local, setLocal] = useState<Refusal>();
  const name =
    typed ?? clone?.name ?? template?.deployment_name ?? nameFromTag(versions.byHand ?? "");
  const source = useMemo(
    () => clone && new Map(clone.services.map((one) => [one.step, one])),
    [clone],
  );
  const first = useRef<HTMLInputElement>(null);
  const create = useCreate();
  const refusal = local ?? (create.error ? sortRefusal(create.error) : nothingRefused);
  const change = () => {
    setLocal(undefined);
    create.reset();
  };
  const body = {
    name,
    project: project?.name ?? "",
    environment: environment?.name ?? "",
    versions: Object.fromEntries(
      versions.chosen.filter((one) => one.value).map((one) => [one.step, one.value]),
    ),
    ...(waits ? { wait: true } : {}),
    // What is no time is said at its field; the other checks are made without it.
    ...(deadlineProblem(minutes) ? {} : { deadline_seconds: deadlineSeconds(minutes) }),
    ...(template?.priority === undefined ? {} : { priority: template.priority }),
    ...(clone ? { cloned_from: clone.source.id } : {}),
  };
  const checks = usePreflight(body);
  const asked = { wanted: search.template, query: templates };
  const lack = useLackToCreateIn(project, environment);
  const reason = whyNot(project, environment) ?? lack ?? whyNoTemplate(asked);
  const submit = () => {
    if (create.isPending || reason) return;
    const found = check(name, versions.chosen, minutes);
    setLocal(found);
    if (found) return;
    create.mutate(body);
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
  };
  const set = (next: { project?: string; env?: string; template?: string }) => {
    change();
    void navigate({ to: ".", search: (before) => ({ ...before, ...next }), replace: true });
  };
  const head = (
    <>
      <span className="t3 hide-m">{t.of}</span>
      <Select
        label={t.project}
        placeholder={t.chooseProject}
        value={project?.name ?? null}
        options={projects.map((one) => ({
          value: one.name,
          label: one.name,
          detail: one.pipeline_version ? t.version(one.pipeline_version) : undefined,
        }))}
        onChange={(next) => set({ project: next, template: undefined })}
      />
      <span className="t3">{t.on}</span>
      <Select
        label={t.environment}
        placeholder={t.chooseEnvironment}
        value={environment?.name ?? null}
        options={environments.map((one) => ({ value: one.name, label: one.name }))}
        onChange={(next) => set({ env: next })}
      />
      {templates.data && templates.data.length > 0 ? (
        <Select
          label={deployTexts.template.label}
          placeholder={deployTexts.template.none}
          value={template?.name ?? ""}
          options={[
            { value: "", label: deployTexts.template.none },
            ...templates.data.map((one) => ({
              value: one.name,
              label: one.name,
              detail: one.description,
            })),
          ]}
          onChange={(next) => {
            const chosen = templates.data?.find((one) => one.name === next);
            set({ template: next || undefined, env: chosen?.environment ?? search.env });
          }}
        />
      ) : null}
    </>
  );
  const foot = (
    <Foot
      refusal={refusal}
      stops={create.error || local ? [] : checks.stops}
      template={
        project?.can_create ? (
          <SaveTemplate project={project.name} environment={body.environment} body={body} />
        ) : null
      }
      busy={create.isPending}
      reason={reason}
      submit={submit}
    />
  );
  return (
    <Sheet
      open
      onClose={close}
      title={clone ? deployTexts.clone.title(clone.source.name) : t.title}
      head={head}
      foot={foot}
      focus={first}
    >
      {projects.length === 0 || environments.length === 0 ? (
        <EmptyState title={t.noneTitle}>{t.none}</EmptyState>
      ) : (
        // biome-ignore lint/a11y/noStaticElementInteractions: Ctrl Enter anywhere in the sheet creates
        <div className="sg" onKeyDown={keys}>
          <div className="form">
            <TemplateNotice {...asked} without={() => set({ template: undefined })} />
            <Field
              ref={first}
              label={t.name}
              mono
              spellCheck={false}
              autoCapitalize="none"
              maxLength={40}
              value={name}
              error={refusal.name}
              hint={t.nameHint}
              onChange={(event) => {
                setTyped(event.target.value);
                change();
              }}
              onKeyDown={(event) => event.key === "Enter" && submit()}
            />
            {project ? (
              <Versions
                project={project}
                versions={versions}
                refused={refusal.versions}
                changed={change}
                source={source}
                branch={
                  <Branch
                    project={project.name}
                    branches={versions.branches}
                    choose={(step, tag) => {
                      versions.choose(step, tag);
                      change();
                    }}
                  />
                }
              />
            ) : null}
            <Deadline
              value={minutes}
              error={refusal.deadline}
              set={(next) => {
                setMinutes(next);
                change();
              }}
            />
            {clone ? <CloneDiffers clone={clone} /> : null}
          </div>
          <Summary
            project={project}
            environment={environment}
            name={name}
            refusal={refusal}
            checks={<Preflight checks={checks} waits={waits} setWait={setWait} />}
          />
        </div>
      )}
    </Sheet>
  );
}

/** The versions a sheet begins with: those of a clone's source, or of a template. */
function begin(
  project?: Project,
  clone?: Schemas["CloneSheet"],
  template?: Schemas["Template"],
): Record<string, string> {
  const cloned = clone && clone.source.project === project?.name ? clone.services : [];
  return {
    ...Object.fromEntries(cloned.flatMap((one) => (one.choice ? [[one.step, one.choice]] : []))),
    ...template?.versions,
  };
}

function only<T>(all: T[]): T | undefined {
  return all[0];
}

function whyNot(project?: Project, environment?: Environment): string | undefined {
  if (!project) return t.chooseProject;
  if (!environment) return t.chooseEnvironment;
  return undefined;
}

/** What can be seen to be wrong without asking. */
function check(
  name: string,
  chosen: { step: string; value: string }[],
  minutes: string,
): Refusal | undefined {
  const found: Refusal = { ...nothingRefused, versions: {} };
  if (!name) found.name = t.nameMissing;
  else if (!isName(name)) found.name = t.nameWrong;
  found.deadline = deadlineProblem(minutes);
  for (const one of chosen) if (!one.value) found.versions[one.step] = t.tagMissing(one.step);
  return countRefusals(found) > 0 ? found : undefined;
}

/** Creates once: the same key goes with every try of the same form content. */
function useCreate() {
  const cache = useQueryClient();
  const navigate = route.useNavigate();
  const sent = useRef({ body: "", key: "" });
  return useMutation({
    mutationFn: (body: Schemas["DeploymentCreate"]) => {
      const text = JSON.stringify(body);
      if (sent.current.body !== text) sent.current = { body: text, key: idempotencyKey() };
      const params = { header: { "Idempotency-Key": sent.current.key } };
      return ask(client.POST("/api/v1/deployments", { body, params }));
    },
    // The key makes it one create, however often it is sent.
    retry: (count, error) => isSilence(error) && count < 2,
    onSuccess: (made) => {
      cache.setQueryData(deployments.queryKey, (list) => list && mergeOne(list, made));
      cache.setQueryData(["deployment", made.id], made);
      cache.setQueryData(["deployment-by-name", made.environment, made.name], made);
      void navigate({
        to: "/deployments/$environment/$name/{-$tab}",
        params: { environment: made.environment, name: made.name, tab: "run" },
        search: {},
      });
    },
    // A refusal was an answer: the next try is another create. Silence was not: it is the same one.
    onError: (error) => {
      if ("status" in error) sent.current = { body: "", key: "" };
    },
  });
}

type FootProps = {
  refusal: Refusal;
  /** What the checks say would be refused. */
  stops: string[];
  template: ReactNode;
  busy: boolean;
  reason?: string;
  submit: () => void;
};

function Foot({ refusal, stops, template, busy, reason, submit }: FootProps) {
  const count = countRefusals(refusal) || stops.length;
  return (
    <>
      {count > 0 ? (
        <span className="row min-w-0" role="status">
          <StatusMark state="failed">{t.mend(count)}</StatusMark>
          <span className="t2 tr">
            {refusal.rest[0] ??
              refusal.name ??
              refusal.deadline ??
              Object.values(refusal.versions)[0] ??
              stops[0]}
          </span>
        </span>
      ) : null}
      <div className="row end shrink-0">
        {template}
        <Button look="ink" reason={reason} busy={busy && t.busy} onClick={submit}>
          {t.submit} <kbd>Ctrl Enter</kbd>
        </Button>
      </div>
    </>
  );
}
