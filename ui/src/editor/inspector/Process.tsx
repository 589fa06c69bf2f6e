import { editorTexts } from "@/editor/editorTexts";
import { type Container, containerOf, containerPath } from "../model/document";
import { referenceOptions } from "../model/referenceOptions";
import { LinesInput, Shell } from "./fields";
import { Group, Records, SmallInput, type StepFormProps } from "./records";
import { NumberInput, TextInput } from "./TextInput";

const t = editorTexts.step;

/** How a container's process is started and ended, where the image does not say it. */
export function Process(props: StepFormProps) {
  const container = containerOf(props.step);
  const at = containerPath(props.step);
  return (
    <Group title={t.advanced} hint={t.advancedHint}>
      <Entrypoint {...props} />
      <Word {...props} label={t.user} path={`${at}.user`} value={container?.user} />
      <Switch {...props} label={t.init} path={`${at}.init`} value={container?.init} />
      <Switch
        {...props}
        label={t.readOnlyRoot}
        path={`${at}.read_only`}
        value={container?.read_only}
      />
      <Word
        {...props}
        label={t.stopSignal}
        path={`${at}.stop_signal`}
        value={container?.stop_signal}
      />
      <Shell label={t.stopGrace} path={`${at}.stop_grace_seconds`} problems={props.problems}>
        {(id, described, wrong) => (
          <NumberInput
            id={id}
            described={described}
            wrong={wrong}
            label={t.stopGrace}
            placeholder="10"
            value={container?.stop_grace_seconds}
            onChange={(next) => props.onChange(`${at}.stop_grace_seconds`, next)}
          />
        )}
      </Shell>
      <Tmpfs {...props} />
      <ExtraHosts {...props} />
    </Group>
  );
}

/** Arguments are lines: a reference is one of its own. */
function Entrypoint({ step, doc, catalogue, problems, onChange }: StepFormProps) {
  const path = `${containerPath(step)}.entrypoint`;
  const entrypoint = containerOf(step)?.entrypoint;
  return (
    <Shell
      label={t.entrypoint}
      path={path}
      hint={t.entrypointHint}
      problems={problems}
      offers={() => referenceOptions(doc, catalogue, step, "any", path)}
      onRefer={(text) => onChange(path, [...(entrypoint ?? []), text])}
    >
      {(id, described) => (
        <LinesInput
          id={id}
          described={described}
          value={entrypoint}
          onChange={(next) => onChange(path, next)}
        />
      )}
    </Shell>
  );
}

type Field<T> = StepFormProps & { label: string; path: string; value: T | undefined };

function Word({ label, path, value, problems, onChange }: Field<string>) {
  return (
    <Shell label={label} path={path} problems={problems}>
      {(id, described, wrong) => (
        <TextInput
          id={id}
          described={described}
          wrong={wrong}
          label={label}
          mono
          value={value}
          onChange={(next) => onChange(path, next || undefined)}
        />
      )}
    </Shell>
  );
}

function Switch({ label, path, value, onChange }: Field<boolean>) {
  return (
    <label className="row s" data-field={path}>
      <input
        type="checkbox"
        checked={value ?? false}
        onChange={(event) => onChange(path, event.target.checked || undefined)}
      />
      {label}
    </label>
  );
}

function Tmpfs(props: StepFormProps) {
  type One = NonNullable<Container["tmpfs"]>[number];
  return (
    <Records<One>
      title={t.tmpfs}
      path={`${containerPath(props.step)}.tmpfs`}
      items={containerOf(props.step)?.tmpfs}
      fresh={{ path: "/tmp" }}
      addLabel={t.addTmpfs}
      step={props}
      row={(one, change) => (
        <>
          <SmallInput label={t.tmpfsPath} value={one.path} onChange={(path) => change({ path })} />
          <SmallInput
            label={t.tmpfsSize}
            value={String(one.size_mib || "")}
            onChange={(text) => change({ size_mib: Number.parseInt(text, 10) || undefined })}
          />
        </>
      )}
    />
  );
}

function ExtraHosts(props: StepFormProps) {
  type Host = NonNullable<Container["extra_hosts"]>[number];
  return (
    <Records<Host>
      title={t.extraHosts}
      path={`${containerPath(props.step)}.extra_hosts`}
      items={containerOf(props.step)?.extra_hosts}
      fresh={{ name: "", address: "" }}
      addLabel={t.addExtraHost}
      step={props}
      row={(host, change) => (
        <>
          <SmallInput label={t.hostName} value={host.name} onChange={(name) => change({ name })} />
          <SmallInput
            label={t.hostAddress}
            value={host.address}
            onChange={(address) => change({ address })}
          />
        </>
      )}
    />
  );
}
