import type { Schemas } from "@/api/client";
import { minuteOf } from "@/components/time";
import { emptyToUndefined, onlyProblems, toNumber } from "@/forms/formValues";
import { nameProblem } from "@/forms/NameField";
import { ruleTexts as t } from "@/pages/rules/ruleTexts";

type Rule = Schemas["Rule"];

/** The form's values. Secret and token are never read back, so they begin empty. */
export const initialValues = (stored?: Rule) => ({
  name: stored?.name ?? "",
  source: stored?.source ?? ("github" as Rule["source"]),
  repository: stored?.repository ?? "",
  project: stored?.project ?? "",
  environment: stored?.environment ?? "",
  branch: stored?.branch ?? "",
  target: stored?.filter?.target ?? "",
  labels: (stored?.filter?.labels ?? []).join(", "),
  authors: (stored?.filter?.authors ?? []).join(", "),
  paths: (stored?.filter?.paths ?? []).join(", "),
  skip_drafts: stored?.filter?.skip_drafts ?? false,
  tag: stored?.tag ?? "pr-{number}",
  /** It has no field here; what is stored for the project stays. */
  input: stored && { project: stored.project, values: stored.input },
  wait_minutes: stored ? String(stored.wait_minutes) : "",
  updates: stored?.updates ?? ("aside" as Schemas["RuleUpdates"]),
  data: stored?.data ?? ("fresh" as Schemas["RuleData"]),
  aliases: stored?.aliases ?? false,
  forks: stored?.forks ?? false,
  // As the server names what it refuses.
  "schedule.at": stored?.schedule?.at ?? "",
  "schedule.time_zone":
    stored?.schedule?.time_zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
  "schedule.lifetime_hours": String(stored?.schedule?.lifetime_hours ?? ""),
  "schedule.until": formatMinute(stored?.schedule?.until),
  api_url: stored?.api_url ?? "",
  secret: "",
  token: "",
  forget: false,
  active: stored?.active ?? true,
});
/** Whether nobody sends events: the clock says when a branch is deployed. */
export const isSchedule = (source: Schemas["RuleSource"]) => source === "schedule";

/** Whether the source tells pull requests of forks from others. */
export const hasForks = (source: Schemas["RuleSource"]) =>
  source === "github" || source === "gitlab" || source === "gitea";

export type Values = ReturnType<typeof initialValues>;

/** What is sent: an absent secret or token keeps the stored one, an empty token forgets it. */
export const bodyOf = (values: Values): Schemas["RulePut"] => ({
  source: values.source,
  repository: isSchedule(values.source) ? undefined : emptyToUndefined(values.repository),
  project: values.project,
  environment: values.environment,
  branch: emptyToUndefined(values.branch),
  filter: hasPullRequests(values.source) ? filterOf(values) : undefined,
  tag: isSchedule(values.source) ? "{branch}" : values.tag.trim(),
  input: values.input?.project === values.project ? values.input.values : undefined,
  wait_minutes: toNumber(values.wait_minutes),
  updates: values.updates,
  data: values.updates === "aside" ? values.data : undefined,
  aliases: values.aliases || undefined,
  forks: (hasForks(values.source) && values.forks) || undefined,
  schedule: isSchedule(values.source) ? scheduleOf(values) : undefined,
  api_url: isSchedule(values.source) ? undefined : emptyToUndefined(values.api_url),
  secret: values.secret || undefined,
  token: values.forget ? "" : values.token || undefined,
  active: values.active,
});

/** Whether a filter of pull requests makes sense. */
export const hasPullRequests = (source: Schemas["RuleSource"]) =>
  source !== "registry" && !isSchedule(source);

/** A moment as its field has it, by the reader's clock. */
const formatMinute = (at?: string) => (at ? minuteOf(new Date(at)) : "");
const toMoment = (text: string) => (text ? new Date(text).toISOString() : undefined);

const scheduleOf = (values: Values): Schemas["RuleSchedule"] => ({
  at: values["schedule.at"].trim(),
  time_zone: values["schedule.time_zone"].trim(),
  lifetime_hours: toNumber(values["schedule.lifetime_hours"]),
  until: toMoment(values["schedule.until"]),
});

/** The filter that is sent; undefined if the rule is for every pull request. */
function filterOf(values: Values): Schemas["RuleFilter"] | undefined {
  const filter = {
    target: emptyToUndefined(values.target),
    labels: toEntries(values.labels),
    authors: toEntries(values.authors),
    paths: toEntries(values.paths),
    skip_drafts: values.skip_drafts || undefined,
  };
  return Object.values(filter).some((value) => value !== undefined) ? filter : undefined;
}

/** Entries between commas; undefined if there are none. */
function toEntries(text: string): string[] | undefined {
  const entries = text
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
  return entries.length > 0 ? entries : undefined;
}

export function findProblems(values: Values, stored: boolean, taken: string[]) {
  const named = values.name.length > 24 ? t.nameLong : nameProblem(values.name, taken);
  const wait = toNumber(values.wait_minutes) ?? 30;
  return onlyProblems({
    name: stored ? undefined : named,
    project: values.project ? undefined : t.projectMissing,
    environment: values.environment ? undefined : t.environmentMissing,
    branch: isSchedule(values.source) && !plainBranch(values.branch) ? t.branchMissing : undefined,
    "schedule.at": isSchedule(values.source) && !values["schedule.at"] ? t.atMissing : undefined,
    tag: isSchedule(values.source) ? undefined : tagProblem(values.tag.trim()),
    wait_minutes: wait >= 1 && wait <= 1440 ? undefined : t.waitWrong,
    secret: values.secret !== "" && values.secret.length < 16 ? t.secretShort : undefined,
  });
}

const plainBranch = (branch: string) => branch !== "" && !/[*?[]/.test(branch);

/** What is wrong with the tag's pattern; the server has the same rule. */
export function tagProblem(tag: string): string | undefined {
  if (tag === "") return t.tagMissing;
  const known = tag.replace(/\{(branch|number|commit|short|tag)\}/g, "");
  return /[{*?[\] ]/.test(known) ? t.tagWrong : undefined;
}

const example = { branch: "feature/Login", number: 7, commit: "4f2a91c07d5e" };

/** What the rule makes of one pull request, as the server would: the tag, and the deployment's name. */
export function leadsTo(rule: { name: string; tag: string }): { tag: string; deployment: string } {
  const words: Record<string, string> = {
    branch: example.branch.replace(/[^A-Za-z0-9._-]/g, "-"),
    number: String(example.number),
    commit: example.commit,
    short: example.commit.slice(0, 7),
    tag: "",
  };
  return {
    tag: rule.tag.replace(/\{(\w+)\}/g, (whole, word: string) => words[word] ?? whole),
    deployment: `${rule.name || "rule"}-${example.number}`,
  };
}
