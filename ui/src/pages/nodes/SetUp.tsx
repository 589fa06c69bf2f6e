import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { ask, client, type NodeInfo, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { Refusal } from "@/components/Field";
import { Sheet } from "@/components/Overlay";
import { nodeTexts } from "@/nodeTexts";
import { texts } from "@/texts";
import { Advanced, Credential, Reach } from "./SetUpFields";
import {
  type Found,
  keyOf,
  refusedAt,
  type SignIn,
  signInAt,
  signInProblems,
  sshOf,
  type Where,
  whereOf,
} from "./sshForm";

const t = nodeTexts.ssh;

/** Asks a machine for its host key. */
function useLook() {
  const [found, setFound] = useState<Found>();
  const look = useMutation({
    mutationFn: (at: Where) => ask(client.POST("/api/v1/ssh-host-key", { body: at })),
    onSuccess: (key, at) => setFound({ at, key }),
  });
  return { look, found };
}

function useBegin(name: string, begun: () => void) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (ssh: Schemas["ProvisionSSH"]) =>
      ask(
        client.POST("/api/v1/nodes/{name}/provisions", {
          params: { path: { name } },
          body: { ssh },
        }),
      ),
    onSuccess: () => {
      void cache.invalidateQueries({ queryKey: ["node", name] });
      begun();
    },
  });
}

type Props = { node: NodeInfo; close: () => void; begun?: () => void };

/** Asks how to sign in, has the machine's key confirmed, and begins an attempt. */
export function SetUp({ node, close, begun = close }: Props) {
  const [values, setValues] = useState(() => signInAt(node.address));
  // Nothing is called wrong before it was tried.
  const [tried, setTried] = useState(false);
  const { look, found } = useLook();
  const begin = useBegin(node.name, begun);
  const key = keyOf(found, whereOf(values));
  const problems = signInProblems(values, key !== undefined);
  const refused = refusedAt(look.error ?? begin.error);
  const set = (change: Partial<SignIn>) => {
    setValues({ ...values, ...change });
    if (change.host !== undefined || change.port !== undefined) look.reset();
    begin.reset();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (look.isPending || begin.isPending) return;
    setTried(Object.keys(problems).length > 0);
    if (Object.keys(problems).length > 0) return;
    if (!key) look.mutate(whereOf(values));
    else begin.mutate(sshOf(values, key.fingerprint));
  };
  const fields = { values, set, wrong: { ...refused.wrong, ...(tried ? problems : {}) } };
  const foot = (
    <div className="row end">
      <Button onClick={close}>{texts.close}</Button>
      <Button
        act={key ? t.confirm : t.look}
        look="ink"
        type="submit"
        form="set-up"
        busy={(look.isPending && t.lookBusy) || (begin.isPending && t.beginBusy)}
      >
        {key ? t.confirm : t.look}
      </Button>
    </div>
  );
  return (
    <Sheet open narrow onClose={close} title={t.formTitle(node.name)} foot={foot}>
      <form id="set-up" className="form grow" onSubmit={submit} noValidate>
        <Reach {...fields} />
        <Credential {...fields} />
        <Advanced {...fields} />
        {key ? <Shown hostKey={key} /> : null}
        {refused.whole ? <Refusal>{refused.whole}</Refusal> : null}
      </form>
    </Sheet>
  );
}

function Shown({ hostKey }: { hostKey: Schemas["SSHHostKey"] }) {
  return (
    <div className="field" role="status">
      <span className="lbl">{t.found(hostKey.kind)}</span>
      <p className="thumb new">{hostKey.fingerprint}</p>
      <span className="hint">{t.compare}</span>
    </div>
  );
}
