import { useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { RotateCcw } from "lucide-react";
import { type ReactNode, useState } from "react";
import { ask, client, type Deployment, type Step } from "@/api/client";
import { me } from "@/api/queries/common";
import { Button } from "@/components/Button";
import { Field } from "@/components/Field";
import { Confirm } from "@/components/Overlay";
import { useKeys } from "@/components/Shell";
import { describe } from "@/components/States";
import { useToast } from "@/components/Toast";
import { texts } from "@/texts";
import { useLackOn } from "../shell/useLack";
import { LifeActs } from "./Life";

const t = texts.page;

type Asked = "retry" | "delete" | "forget";

/** What a deployment's state allows. Nothing is shown that could never be done from here. */
export function Acts({ deployment, steps }: { deployment: Deployment; steps: Step[] }) {
  const { data: person } = useSuspenseQuery(me);
  const [asking, setAsking] = useState<"cancel" | "remove" | "forget">();
  const act = useAct(deployment, () => setAsking(undefined));
  const { status } = deployment;
  const reason = useLackOn(deployment);
  const failed = status === "failed";
  const cancelable = status === "queued" || status === "applying";
  const removable = status === "ready" || failed;
  const noRetry = reason ?? (deployment.scratch ? t.scratchHint : undefined);
  const retry = () => !noRetry && act.mutate("retry");
  useKeys({ r: () => failed && !act.isPending && retry() });
  return (
    <div className="row end acts wrap">
      <LifeActs deployment={deployment} />
      {failed ? (
        <Button
          look="ink"
          reason={noRetry}
          busy={act.isPending && act.variables === "retry" && t.retryBusy}
          onClick={retry}
        >
          <RotateCcw className="i sm" aria-hidden="true" />
          {t.retry} <kbd>R</kbd>
        </Button>
      ) : null}
      {status === "stuck" ? (
        <>
          <Button
            look="ink"
            reason={reason}
            busy={act.isPending && t.removing}
            onClick={() => act.mutate("delete")}
          >
            {t.again}
          </Button>
          {person.role === "admin" ? (
            <Button look="danger" onClick={() => setAsking("forget")}>
              {t.forget}
            </Button>
          ) : null}
        </>
      ) : null}
      {cancelable ? (
        <Button look="danger" reason={reason} onClick={() => setAsking("cancel")}>
          {t.cancel}
        </Button>
      ) : null}
      {removable ? (
        <Button look="danger" reason={reason} onClick={() => setAsking("remove")}>
          {t.remove}
        </Button>
      ) : null}
      <Questions
        deployment={deployment}
        steps={steps}
        asking={asking}
        close={() => setAsking(undefined)}
        act={act}
      />
    </div>
  );
}

type Act = ReturnType<typeof useAct>;

function useAct(deployment: Deployment, done: () => void) {
  const cache = useQueryClient();
  const say = useToast();
  const params = { path: { id: deployment.id } };
  const said = {
    retry: t.retryAsked,
    delete: deployment.status === "applying" ? t.cancelAsked : t.deleteAsked,
    forget: t.forgotten,
  };
  return useMutation({
    mutationFn: (asked: Asked) => {
      if (asked === "retry") return ask(client.POST("/api/v1/deployments/{id}/retry", { params }));
      if (asked === "forget")
        return ask(client.POST("/api/v1/deployments/{id}/forget", { params }));
      return ask(client.DELETE("/api/v1/deployments/{id}", { params }));
    },
    onSuccess: (told, asked) => {
      cache.setQueryData(["deployment", deployment.id], told);
      void cache.invalidateQueries({ queryKey: ["deployment", deployment.id, "runs"] });
      say("done", said[asked](deployment.name));
      done();
    },
    onError: (error) => {
      say("failed", t.refused(describe(error).message));
      done();
    },
  });
}

type QuestionProps = {
  deployment: Deployment;
  steps: Step[];
  asking?: string;
  close: () => void;
  act: Act;
};

/** Each question says what exactly happens, to how much, and what stays. */
function Questions({ deployment, steps, asking, close, act }: QuestionProps) {
  const { name, node } = deployment;
  const keep = <Button onClick={close}>{texts.keep}</Button>;
  const offline = deployment.node_offline_since && node ? <p>{t.removeOffline(node)}</p> : null;
  const done = steps.filter((step) => step.status === "done").length;
  return (
    <>
      <Question
        open={asking === "cancel"}
        close={close}
        title={t.cancelTitle(name)}
        keep={keep}
        yes={
          <Button
            look="danger"
            busy={act.isPending && t.removing}
            onClick={() => act.mutate("delete")}
          >
            {t.cancelYes}
          </Button>
        }
      >
        <p>{t.cancelBody(Math.min(done + 1, steps.length), steps.length, done)}</p>
        {offline}
      </Question>
      <Question
        open={asking === "remove"}
        close={close}
        title={t.removeTitle(name)}
        keep={keep}
        yes={
          <Button
            look="danger"
            busy={act.isPending && t.removing}
            onClick={() => act.mutate("delete")}
          >
            {t.remove}
          </Button>
        }
      >
        <p>
          {deployment.status === "failed"
            ? t.removeFailedBody
            : t.removeBody(
                deployment.services.length,
                deployment.services.filter((service) => service.url).length,
              )}
        </p>
        {offline}
        <p>{t.removeStays}</p>
      </Question>
      <Forget
        deployment={deployment}
        open={asking === "forget"}
        close={close}
        keep={keep}
        act={act}
      />
    </>
  );
}

type OneProps = {
  open: boolean;
  close: () => void;
  title: string;
  keep: ReactNode;
  yes: ReactNode;
  children: ReactNode;
};

function Question({ open, close, title, keep, yes, children }: OneProps) {
  const acts = (
    <>
      {keep}
      {yes}
    </>
  );
  return (
    <Confirm open={open} onClose={close} title={title} acts={acts}>
      {children}
    </Confirm>
  );
}

type ForgetProps = {
  deployment: Deployment;
  open: boolean;
  close: () => void;
  keep: ReactNode;
  act: Act;
};

/** The one act that leaves something behind: its name has to be typed. */
function Forget({ deployment, open, close, keep, act }: ForgetProps) {
  const [typed, setTyped] = useState("");
  const { name, node } = deployment;
  const yes = (
    <Button
      look="danger"
      reason={typed === name ? undefined : t.forgetType(name)}
      busy={act.isPending && t.forgetBusy}
      onClick={() => act.mutate("forget")}
    >
      {t.forget}
    </Button>
  );
  return (
    <Question open={open} close={close} title={t.forgetTitle(name)} keep={keep} yes={yes}>
      <p>{t.forgetBody(node ?? "")}</p>
      <Field
        label={t.forgetType(name)}
        mono
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
    </Question>
  );
}
