import type { Schemas } from "@/api/client";
import { emptyToUndefined, onlyProblems } from "@/forms/formValues";
import { nameProblem } from "@/forms/NameField";
import { noticeTexts, webhookTexts as t } from "@/pages/webhooks/noticeTexts";
import type { NoticeEvent } from "./Events";

type Webhook = Schemas["Webhook"];

/** The form's values. Address and key are never read back, so they begin empty. */
export const initialValues = (stored?: Webhook) => ({
  name: stored?.name ?? "",
  kind: stored?.kind ?? ("json" as Webhook["kind"]),
  url: "",
  secret: "",
  project: stored?.project ?? "",
  environment: stored?.environment ?? "",
  events: stored?.events ?? ([] as NoticeEvent[]),
  template: stored?.template ?? "",
  active: stored?.active ?? true,
});
export type Values = ReturnType<typeof initialValues>;

/** What is sent: empty secrets keep the stored ones; only chats have a sentence, only JSON a key. */
export function bodyOf(values: Values): Schemas["WebhookPut"] {
  const signed = values.kind === "json";
  return {
    kind: values.kind,
    url: emptyToUndefined(values.url),
    secret: signed ? values.secret || undefined : undefined,
    project: emptyToUndefined(values.project),
    environment: emptyToUndefined(values.environment),
    events: values.events,
    template: signed ? undefined : emptyToUndefined(values.template),
    active: values.active,
  };
}

export function findProblems(values: Values, stored: boolean, taken: string[]) {
  const short = values.kind === "json" && values.secret !== "" && values.secret.length < 16;
  return onlyProblems({
    name: stored ? undefined : nameProblem(values.name, taken),
    url: stored || values.url.trim() ? undefined : t.urlMissing,
    secret: short ? t.secretShort : undefined,
    events: values.events.length === 0 ? noticeTexts.eventsMissing : undefined,
  });
}
