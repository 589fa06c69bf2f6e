import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { pipeline as pipelineQuery } from "@/api/queries/catalog";
import { type InputField, type InputValues, inputBody, missingInput } from "@/forms/inputValues";
import { useReasonNotToCreateIn } from "../shell/usePermissionReason";
import { deadlineProblem, deadlineSeconds } from "./Deadline";
import { checkForm } from "./initialVersions";
import { usePreflight } from "./Preflight";
import { templates as templatesQuery } from "./queries";
import { requiredLabels } from "./RequiredLabels";
import { gatherRefusals, type Refusal } from "./refusal";
import type { CreateSearch } from "./search";
import { whyNoTemplate } from "./TemplateNotice";
import { type Read, resolveTarget, whyNoTarget } from "./target";
import { useAddress } from "./useAddress";
import { useCreate } from "./useCreate";
import { useDraft } from "./useDraft";

const NO_FIELDS: InputField[] = [];
const route = getRouteApi("/app/deployments/new");

/** Everything the sheet knows: where it will be made, of what, what stands in the way, and the act. */
export function useSheet(read: Read) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const place = resolveTarget(read, search);
  const { project, environment } = place;
  // Of another project it is no clone: nothing of its source would come along.
  const clone = read.clone?.source.project === project?.name ? read.clone : undefined;
  const templates = useQuery({ ...templatesQuery(project?.name ?? ""), enabled: Boolean(project) });
  const template = templates.data?.find((one) => one.name === search.template);
  // The summary beside the form asks for the same.
  const pipeline = useQuery({
    ...pipelineQuery(project?.name ?? ""),
    enabled: Boolean(project?.pipeline_version),
  });
  const fields = pipeline.data?.pipeline.input ?? NO_FIELDS;
  const draft = useDraft({ search, project, clone, template, suggested: read.clone?.name });
  const create = useCreate();
  const [local, setLocal] = useState<Refusal>();
  const change = () => {
    setLocal(undefined);
    create.reset();
  };
  const input = inputBody(fields, draft.input, draft.begunInput);
  const body = bodyOf(place, draft, clone?.source.id, template?.priority, input);
  const asked = { wanted: search.template, query: templates };
  const lack = useReasonNotToCreateIn(project, environment);
  const reason = whyNoTarget(place) ?? lack ?? whyNoTemplate(asked);
  const checks = usePreflight(body);
  const shown = {
    steps: (project?.services ?? []).map((one) => one.step),
    inputs: fields.map((one) => one.name),
  };
  const kept = { name: draft.named ? draft.name : undefined, versions: draft.versions.own };
  useAddress(kept, create.isPending || create.isSuccess);
  const submit = () => {
    if (create.isPending || reason) return;
    const missing = missingInput(fields, input);
    const found = checkForm(draft.name, draft.versions.chosen, draft.minutes, missing);
    setLocal(found);
    if (!found) create.mutate(body);
  };
  const set = (next: Pick<CreateSearch, "project" | "env" | "template">) => {
    change();
    void navigate({ to: ".", search: (before) => ({ ...before, ...next }), replace: true });
  };
  return {
    ...{ search, place, clone, template, asked, draft, body, reason, change, set, submit },
    fields,
    checks,
    busy: create.isPending,
    ...gatherRefusals(local, create.error, checks.failed, shown),
  };
}

export type SheetState = ReturnType<typeof useSheet>;

function bodyOf(
  { project, environment }: ReturnType<typeof resolveTarget>,
  { name, versions, waits, minutes, labels }: ReturnType<typeof useDraft>,
  source?: string,
  priority?: number,
  input?: InputValues,
) {
  const chosen = versions.chosen.filter((one) => one.value);
  const required = requiredLabels(labels);
  return {
    name,
    project: project?.name ?? "",
    environment: environment?.name ?? "",
    versions: Object.fromEntries(chosen.map((one) => [one.step, one.value])),
    ...(waits ? { wait: true } : {}),
    // What is no time is said at its field; the other checks are made without it.
    ...(deadlineProblem(minutes) ? {} : { deadline_seconds: deadlineSeconds(minutes) }),
    ...(required ? { required_labels: required } : {}),
    ...(input ? { input } : {}),
    ...(priority === undefined ? {} : { priority }),
    ...(source ? { cloned_from: source } : {}),
  };
}
