import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { ask, client, type NodeInfo, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { Field, Refusal } from "@/components/Field";
import { Sheet } from "@/components/Overlay";
import { describe } from "@/components/States";
import { texts } from "@/texts";

const t = texts.nodes.ssh;

type HostKey = Schemas["SSHHostKey"];

/** Asks how to sign in, has the machine's key confirmed, and begins an attempt. */
export function SetUp({ node, close }: { node: NodeInfo; close: () => void }) {
  const cache = useQueryClient();
  const at = node.address.slice(0, node.address.lastIndexOf(":"));
  const [ssh, setSSH] = useState({ host: at, port: "22", user: "root", password: "", key: "" });
  const [docker, setDocker] = useState(true);
  const [found, setFound] = useState<HostKey>();
  const where = { host: ssh.host, port: Number(ssh.port) || 22 };
  const look = useMutation({
    mutationFn: () => ask(client.POST("/api/v1/ssh-host-key", { body: where })),
    onSuccess: setFound,
  });
  const begin = useMutation({
    mutationFn: (host_key: string) =>
      ask(
        client.POST("/api/v1/nodes/{name}/provisions", {
          params: { path: { name: node.name } },
          body: {
            ssh: {
              ...where,
              user: ssh.user,
              host_key,
              forget: true,
              install_docker: docker,
              ...(ssh.key ? { private_key: ssh.key } : { password: ssh.password }),
            },
          },
        }),
      ),
    onSuccess: () => {
      void cache.invalidateQueries({ queryKey: ["node", node.name] });
      close();
    },
  });
  const set = (change: Partial<typeof ssh>) => {
    setSSH({ ...ssh, ...change });
    if (change.host !== undefined || change.port !== undefined) setFound(undefined);
    look.reset();
    begin.reset();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (found) begin.mutate(found.fingerprint);
    else look.mutate();
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
        {found ? t.confirm : t.look}
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
        <label className="row">
          <input
            type="checkbox"
            checked={docker}
            onChange={(event) => setDocker(event.target.checked)}
          />
          {t.installDocker}
        </label>
        {found ? (
          <div className="field" role="status">
            <span className="lbl">{t.found(found.kind)}</span>
            <p className="thumb new">{found.fingerprint}</p>
            <span className="hint">{t.compare}</span>
          </div>
        ) : null}
        {wrong ? <Refusal>{describe(wrong).message}</Refusal> : null}
      </form>
    </Sheet>
  );
}
