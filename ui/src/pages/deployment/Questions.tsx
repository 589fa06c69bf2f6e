import { type ReactNode, useState } from "react";
import type { Deployment, Step } from "@/api/client";
import { Button } from "@/components/Button";
import { Field } from "@/components/Field";
import { Confirm } from "@/components/Overlay";
import { describeCancel } from "@/pages/deployment/endingTexts";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { texts } from "@/texts";
import { presenceTexts } from "./presenceTexts";
import { RemovalEffects } from "./RemovalEffects";
import type { Act } from "./useAct";
import { Interrupts } from "./WhoIsHere";

const t = pageTexts;

type QuestionProps = {
  deployment: Deployment;
  steps: Step[];
  asking?: string;
  close: () => void;
  act: Act;
};

/** Each question says what exactly happens, to how much, and what stays. */
export function Questions({ deployment, steps, asking, close, act }: QuestionProps) {
  const { name, node } = deployment;
  const keep = <Button onClick={close}>{texts.keep}</Button>;
  const offline = deployment.node_offline_since && node ? <p>{t.removeOffline(node)}</p> : null;
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
        {asking === "cancel" ? <p>{describeCancel(deployment, steps)}</p> : null}
        <Interrupts on={[deployment]} />
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
        {asking === "remove" ? <RemovalEffects deployment={deployment} /> : null}
        <Interrupts on={[deployment]} />
        {offline}
        <p>{t.removeStays}</p>
      </Question>
      <Question
        open={asking === "retry"}
        close={close}
        title={presenceTexts.retryTitle(name)}
        keep={keep}
        yes={
          <Button
            look="ink"
            busy={act.isPending && t.retryBusy}
            onClick={() => act.mutate("retry")}
          >
            {t.retry}
          </Button>
        }
      >
        <Interrupts on={[deployment]} />
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

/** The only action that leaves resources behind, so the name has to be typed. */
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
