import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { type FormEvent, useId, useRef, useState } from "react";
import { ApiError, ask, client, type Schemas } from "@/api/client";
import { environments as environmentsQuery, node as nodeQuery } from "@/api/queries/catalog";
import { Button } from "@/components/Button";
import { CommandLine } from "@/components/CommandLine";
import { Field, Refusal } from "@/components/Field";
import { isName, thumbprint } from "@/components/names";
import { Sheet } from "@/components/Overlay";
import { Select } from "@/components/Select";
import { describeError } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { nodeTexts } from "@/nodeTexts";
import { createTexts } from "@/pages/create/createTexts";
import { machineTexts as m } from "@/pages/nodes/machineTexts";
import { texts } from "@/texts";
import { SetUp } from "./SetUp";
import { ThumbprintCommands } from "./TrustDecision";

const t = nodeTexts;
type Enrolment = Schemas["NodeEnrolment"];

/** Names a machine, then shows the one line that joins it, once; or sets it up over SSH. */
export function AddNode({ close }: { close: () => void }) {
  const navigate = useNavigate();
  const [made, setMade] = useState<Enrolment>();
  const [ssh, setSSH] = useState(false);
  if (!made) return <Form close={close} made={setMade} />;
  const { node } = made;
  // Its page shows the attempt, live.
  const begun = () => void navigate({ to: "/nodes/$name", params: { name: node.name } });
  if (ssh) return <SetUp node={node} close={close} begun={begun} />;
  return <Enrolled enrolment={made} close={close} instead={() => setSSH(true)} />;
}

function Form({ close, made }: { close: () => void; made: (enrolment: Enrolment) => void }) {
  const cache = useQueryClient();
  const read = useQuery(environmentsQuery);
  const environments = read.data ?? [];
  const [body, setBody] = useState({ name: "", environment: "", address: "", thumbprint: "" });
  const [connects, setConnects] = useState(false);
  const [nameError, setNameError] = useState<string>();
  const first = useRef<HTMLInputElement>(null);
  const environment = body.environment || environments[0]?.name || "";
  const add = useMutation({
    mutationFn: () =>
      ask(
        client.POST("/api/v1/nodes", {
          body: {
            name: body.name,
            environment,
            thumbprint: body.thumbprint || undefined,
            ...(connects ? { connect: "agent" } : { address: body.address }),
          },
        }),
      ),
    onSuccess: (enrolment) => {
      void cache.invalidateQueries({ queryKey: ["nodes"] });
      made(enrolment);
    },
  });
  const set = (change: Partial<typeof body>) => {
    setBody({ ...body, ...change });
    setNameError(undefined);
    add.reset();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (add.isPending) return;
    if (!isName(body.name)) return setNameError(createTexts.nameWrong);
    add.mutate();
  };
  const refused = fieldOf(add.error);
  const says = (field: string) => (refused?.field === field ? refused.message : undefined);
  const known = ["name", "address", "thumbprint"].includes(refused?.field ?? "");
  const foot = (
    <div className="row end">
      <Button onClick={close}>{texts.close}</Button>
      <Button
        act={t.add}
        look="ink"
        type="submit"
        form="add-node"
        busy={add.isPending && t.addBusy}
      >
        {t.add}
      </Button>
    </div>
  );
  return (
    <Sheet open narrow onClose={close} title={t.addTitle} foot={foot} focus={first}>
      <form id="add-node" className="form grow" onSubmit={submit} noValidate>
        <Field
          ref={first}
          label={t.name}
          mono
          spellCheck={false}
          maxLength={40}
          value={body.name}
          error={nameError ?? says("name")}
          hint={createTexts.nameHint}
          onChange={(event) => set({ name: event.target.value })}
        />
        <div className="field">
          <span className="lbl">{t.environment}</span>
          <div>
            <Select
              label={t.environment}
              placeholder={createTexts.chooseEnvironment}
              value={environment || null}
              options={environments.map((one) => ({ value: one.name, label: one.name }))}
              onChange={(next) => set({ environment: next })}
            />
          </div>
          {read.data?.length === 0 ? <NoEnvironment /> : null}
        </div>
        <AgentConnects checked={connects} set={setConnects} />
        {connects ? null : (
          <Field
            label={t.address}
            mono
            spellCheck={false}
            placeholder="10.20.4.14:5000"
            value={body.address}
            error={says("address")}
            hint={t.addressHint}
            onChange={(event) => set({ address: event.target.value })}
          />
        )}
        <Field
          label={t.thumbprint}
          mono
          spellCheck={false}
          value={body.thumbprint}
          error={says("thumbprint")}
          hint={t.thumbprintHint}
          onChange={(event) => set({ thumbprint: event.target.value })}
        />
        {refused && !known ? <Refusal>{refused.message}</Refusal> : null}
      </form>
    </Sheet>
  );
}

/** For a machine that cannot be reached from here. */
function AgentConnects({ checked, set }: { checked: boolean; set: (on: boolean) => void }) {
  const id = useId();
  return (
    <div className="field">
      <div className="ck">
        <input
          id={id}
          type="checkbox"
          checked={checked}
          aria-describedby={`${id}-more`}
          onChange={(event) => set(event.target.checked)}
        />
        <label htmlFor={id}>{m.form.agentConnects}</label>
      </div>
      <div className="hint pl-6" id={`${id}-more`}>
        {m.form.agentConnectsHint}
      </div>
    </div>
  );
}

/** A first node needs its environment first. */
function NoEnvironment() {
  return (
    <span className="hint">
      {m.noEnvironment}{" "}
      <Link className="link" to="/environments" search={{ add: true }}>
        {m.addEnvironment}
      </Link>
    </span>
  );
}

function fieldOf(error: unknown): { field: string; message: string } | undefined {
  if (!error) return undefined;
  const { message } = describeError(error);
  return { field: error instanceof ApiError ? (error.problem.field ?? "") : "", message };
}

type LinesProps = {
  enrolment: Enrolment;
  cluster: boolean;
  setCluster: (cluster: boolean) => void;
};

/** The line for a machine, or the two for a cluster. */
function Lines({ enrolment, cluster, setCluster }: LinesProps) {
  const { command, kubernetes } = enrolment;
  if (!kubernetes) return <CommandLine line={command} what={t.command} />;
  return (
    <>
      <div className="field">
        <span className="lbl">{m.cluster.kind}</span>
        <div>
          <Select
            label={m.cluster.kind}
            placeholder={m.cluster.kind}
            value={cluster ? "kubernetes" : "docker"}
            options={[
              { value: "docker", label: m.cluster.docker },
              { value: "kubernetes", label: m.cluster.kubernetes },
            ]}
            onChange={(next) => setCluster(next === "kubernetes")}
          />
        </div>
      </div>
      {cluster ? (
        <>
          <CommandLine label={m.cluster.helm} line={kubernetes.helm} what={m.cluster.helmLine} />
          <CommandLine
            label={m.cluster.kubectl}
            line={kubernetes.kubectl}
            what={m.cluster.kubectlLine}
          />
        </>
      ) : (
        <CommandLine line={command} what={t.command} />
      )}
    </>
  );
}

type EnrolledProps = {
  enrolment: Enrolment;
  close: () => void;
  /** For a new machine: set it up over SSH instead, which issues another token. */
  instead?: () => void;
};

/** The token, shown once, inside the line that uses it; and what the agent must show in return. */
export function Enrolled({ enrolment, close, instead }: EnrolledProps) {
  // The page follows the nodes' events and refetches this.
  const { data } = useQuery({ ...nodeQuery(enrolment.node.name), refetchInterval: 5000 });
  const node = data ?? enrolment.node;
  const seen = node.thumbprint ?? node.pending_thumbprint;
  const [cluster, setCluster] = useState(Boolean(enrolment.node.inventory?.cluster));
  // Nobody signs in to a cluster over SSH.
  const able = instead && !cluster && !seen && node.address;
  const foot = (
    <div className="row end">
      {able ? (
        <Button act={m.ssh.instead} onClick={instead}>
          {m.ssh.instead}
        </Button>
      ) : null}
      <Button look="ink" onClick={close}>
        {t.doneButton}
      </Button>
    </div>
  );
  return (
    <Sheet open narrow onClose={close} title={t.enrolTitle(node.name)} foot={foot}>
      <div className="form grow">
        <Lines enrolment={enrolment} cluster={cluster} setCluster={setCluster} />
        <CommandLine
          label={t.token[0]?.toUpperCase() + t.token.slice(1)}
          line={enrolment.token}
          what={t.token}
          hint={t.tokenOnce}
        />
        <div className="field">
          <span className="lbl">{t.certificate}</span>
          <p className="t2">{t.prints}</p>
          {seen ? <p className="thumb new">{thumbprint(seen)}</p> : null}
          <ThumbprintCommands name={node.name} cluster={cluster} />
          <p role="status" className="row">
            <StatusMark state={node.status} />
            <span className="t2">
              {node.status === "online" ? t.seen : (node.status_detail ?? t.waiting)}
            </span>
          </p>
        </div>
      </div>
    </Sheet>
  );
}
