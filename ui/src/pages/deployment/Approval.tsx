import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { ApiError, ask, client, type Deployment, type Question } from "@/api/client";
import { BidiSafe } from "@/components/BidiSafe";
import { Button } from "@/components/Button";
import { Refusal } from "@/components/Field";
import { isLack, useShownLack } from "@/components/lack";
import { Confirm } from "@/components/Overlay";
import { describeError } from "@/components/States";
import { StatusMark, stateWord } from "@/components/Status";
import { formatClock } from "@/components/time";
import { approvalTexts } from "@/pages/deployment/approvalTexts";
import { texts } from "@/texts";
import { usePermissionReasonOn } from "../shell/usePermissionReason";
import { type AskedField, OneField } from "./ApprovalField";

const t = approvalTexts;
type Values = Record<string, string | boolean>;

/** What the run waits for, above its graph: the question, who may answer it, and until when. */
export function Approval({ deployment }: { deployment: Deployment }) {
  const { question } = deployment;
  if (!question || deployment.status !== "applying") return null;
  return (
    <section className="box mt-0.5" data-st="approval" aria-label={t.label(question.step)}>
      <StatusMark state="waiting">
        <span className="vh">{stateWord("waiting")}</span>
      </StatusMark>
      <div className="grow col gap-2">
        <b className="whitespace-pre-wrap">
          <BidiSafe text={question.prompt} />
        </b>
        <span className="t2">
          {question.answered_by
            ? t.answered(
                question.answered_by,
                Boolean(question.approved),
                formatClock(question.answered_at ?? question.asked_at),
                deployment.node ?? "",
              )
            : `${t.whom(question.teams, question.users)} ${t.until(formatClock(question.deadline))}`}
        </span>
        {question.answered_by ? null : (
          <Answer
            key={`${question.run}/${question.step}`}
            deployment={deployment}
            question={question}
          />
        )}
      </div>
    </section>
  );
}

type Reply = { approved: boolean; fields: Record<string, unknown> };

function useReply(deployment: Deployment, question: Question) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (body: Reply) => {
      const path = { id: deployment.id, run: question.run, step: question.step };
      return ask(
        client.POST("/api/v1/deployments/{id}/runs/{run}/steps/{step}/answer", {
          params: { path },
          body,
        }),
      );
    },
    onSuccess: (told) => cache.setQueryData(["deployment", deployment.id], told),
  });
}

/** The form. Who may not answer can read it, and why it is not for them. */
function Answer({ deployment, question }: { deployment: Deployment; question: Question }) {
  const [values, setValues] = useState<Values>(() => defaults(question.fields));
  const [rejecting, setRejecting] = useState(false);
  const reply = useReply(deployment, question);
  const lack = usePermissionReasonOn(deployment);
  // Without teams and people of its own it is for who has Full: then it is a grant that is missing.
  const named = question.teams.length + question.users.length > 0;
  const refusal = (named ? undefined : lack) ?? question.refusal;
  const reason = question.may_answer ? undefined : refusal;
  const refused = refusals(reply.error);
  const approve = (event: FormEvent) => {
    event.preventDefault();
    if (!reason && !reply.isPending)
      reply.mutate({ approved: true, fields: filledValues(question.fields, values) });
  };
  const reject = () =>
    reply.mutate({ approved: false, fields: {} }, { onSettled: () => setRejecting(false) });
  useShownLack(reason);
  // The line above says who can give what is missing, and the question whom it asks.
  if (isLack(reason)) return null;
  return (
    <form className="col gap-2" onSubmit={approve} aria-label={t.label(question.step)}>
      {question.fields.map((field) => (
        <OneField
          key={field.name}
          field={field}
          value={values[field.name] ?? ""}
          error={refused.fields[field.name]}
          off={Boolean(reason)}
          onChange={(value) => setValues((before) => ({ ...before, [field.name]: value }))}
        />
      ))}
      {refused.all ? <Refusal>{refused.all}</Refusal> : null}
      {reason ? <span className="t2">{reason}</span> : null}
      <div className="row">
        <Button
          type="submit"
          look="ink"
          act={`${t.label(question.step)}: ${t.yes}`}
          reason={reason}
          busy={reply.isPending && reply.variables.approved && t.busy}
        >
          {t.yes}
        </Button>
        <Button
          look="danger"
          act={`${t.label(question.step)}: ${t.no}`}
          reason={reason}
          onClick={() => setRejecting(true)}
        >
          {t.no}
        </Button>
      </div>
      <Confirm
        open={rejecting}
        onClose={() => setRejecting(false)}
        title={t.rejectTitle(deployment.name)}
        acts={
          <>
            <Button onClick={() => setRejecting(false)}>{texts.keep}</Button>
            <Button look="danger" busy={reply.isPending && t.busy} onClick={reject}>
              {t.no}
            </Button>
          </>
        }
      >
        <p>{t.rejectBody}</p>
      </Confirm>
    </form>
  );
}

function defaults(fields: AskedField[]): Values {
  return Object.fromEntries(
    fields.map((field) => [
      field.name,
      typeof field.default === "boolean" ? field.default : String(field.default ?? ""),
    ]),
  );
}

/** The values as the API takes them. What was left empty is not sent: it has its default there. */
export function filledValues(fields: AskedField[], values: Values): Record<string, unknown> {
  const all: Record<string, unknown> = {};
  for (const field of fields) {
    const value = values[field.name];
    if (field.type === "boolean") all[field.name] = value === true;
    else if (field.type === "number" && typeof value === "string" && value.trim() !== "") {
      const number = Number(value);
      // What is no number is sent as it is, and refused in the API's words.
      all[field.name] = Number.isFinite(number) ? number : value;
    } else if (field.type !== "number" && value !== undefined && value !== "")
      all[field.name] = value;
  }
  return all;
}

/** The refusal of an answer, by the field it is about. */
function refusals(error: unknown): { fields: Record<string, string>; all?: string } {
  if (!error) return { fields: {} };
  const problems = error instanceof ApiError ? (error.problem.problems ?? []) : [];
  const fields = Object.fromEntries(
    problems
      .filter((problem) => problem.field.startsWith("fields."))
      .map((problem) => [problem.field.slice("fields.".length), problem.message]),
  );
  return Object.keys(fields).length > 0
    ? { fields }
    : { fields, all: describeError(error).message };
}
