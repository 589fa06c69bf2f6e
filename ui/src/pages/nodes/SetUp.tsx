import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { ask, client, type NodeInfo, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { Field, Refusal } from "@/components/Field";
import { Sheet } from "@/components/Overlay";
import { describe } from "@/components/States";
import { machineTexts } from "@/machineTexts";
import { texts } from "@/texts";

const t = texts.nodes.ssh;

type SignIn = {
  host: string;
  port: string;
  user: string;
  password: string;
  key: string;
  passphrase: string;
};
type Where = Schemas["SSHHost"];
type Found = { at: Where; key: Schemas["SSHHostKey"] };

const whereOf = ({ host, port }: SignIn) => ({ host, port: Number(port) || 22 });

/** The key that was found, unless another machine is meant by now: one is never shown for the other. */
export function keyOf(found: Found | undefined, meant: Where) {
  const same = found?.at.host === meant.host && found.at.port === meant.port;
  return same ? found?.key : undefined;
}

/** How to sign in, as the API takes it: exactly one of password and key. */
const signInOf = ({ user, password, key, passphrase }: SignIn) => ({
  user,
  ...(key ? { private_key: key, passphrase: passphrase || undefined } : { password }),
});

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
  const [ssh, setSSH] = useState<SignIn>({
    host: node.address.slice(0, node.address.lastIndexOf(":")),
    port: "22",
    user: "root",
    password: "",
    key: "",
    passphrase: "",
  });
  const [docker, setDocker] = useState(true);
  const { look, found } = useLook();
  const begin = useBegin(node.name, begun);
  const where = whereOf(ssh);
  const key = keyOf(found, where);
  const set = (change: Partial<SignIn>) => {
    setSSH({ ...ssh, ...change });
    if (change.host !== undefined || change.port !== undefined) look.reset();
    begin.reset();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (look.isPending || begin.isPending) return;
    if (!key) return look.mutate(where);
    begin.mutate({
      ...where,
      ...signInOf(ssh),
      host_key: key.fingerprint,
      forget: true,
      install_docker: docker,
    });
  };
  const wrong = look.error ?? begin.error;
  const foot = (
    <div className="row end">
      <Button onClick={close}>{texts.close}</Button>
      <Button
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
        <Field
          label={t.host}
          mono
          spellCheck={false}
          value={ssh.host}
          onChange={(event) => set({ host: event.target.value })}
        />
        <Field
          label={t.port}
          mono
          inputMode="numeric"
          value={ssh.port}
          onChange={(event) => set({ port: event.target.value })}
        />
        <Field
          label={t.user}
          mono
          spellCheck={false}
          value={ssh.user}
          hint={t.userHint}
          onChange={(event) => set({ user: event.target.value })}
        />
        <Field
          label={t.password}
          type="password"
          value={ssh.password}
          hint={t.secretHint}
          onChange={(event) => set({ password: event.target.value })}
        />
        <div className="field">
          <label className="lbl" htmlFor="ssh-key">
            {t.key}
          </label>
          <div className="in">
            <textarea
              id="ssh-key"
              className="mono"
              rows={4}
              spellCheck={false}
              value={ssh.key}
              onChange={(event) => set({ key: event.target.value })}
            />
          </div>
        </div>
        {ssh.key ? (
          <Field
            label={machineTexts.ssh.passphrase}
            type="password"
            autoComplete="off"
            value={ssh.passphrase}
            onChange={(event) => set({ passphrase: event.target.value })}
          />
        ) : null}
        <label className="row">
          <input
            type="checkbox"
            checked={docker}
            onChange={(event) => setDocker(event.target.checked)}
          />
          {t.installDocker}
        </label>
        {key ? (
          <div className="field" role="status">
            <span className="lbl">{t.found(key.kind)}</span>
            <p className="thumb new">{key.fingerprint}</p>
            <span className="hint">{t.compare}</span>
          </div>
        ) : null}
        {wrong ? <Refusal>{describe(wrong).message}</Refusal> : null}
      </form>
    </Sheet>
  );
}
