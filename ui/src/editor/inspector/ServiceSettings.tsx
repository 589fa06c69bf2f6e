import { Plus } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { Button } from "@/components/Button";
import { loadChunk } from "@/components/loadChunk";
import { Skeletons } from "@/components/States";
import { editorTexts } from "@/editor/editorTexts";
import { type Container, containerOf, containerPath } from "../model/document";
import { referenceOptions } from "../model/referenceOptions";
import { insertReference } from "../model/references";
import { ChoiceInput, Shell, TextInput } from "./fields";
import { ReadinessForm } from "./ReadinessForm";
import { Group, Records, RemoveButton, SmallInput, type StepFormProps } from "./records";

const JobSettings = lazy(() => loadChunk(() => import("./JobSettings")));
const t = editorTexts.step;
type Props = StepFormProps;

/** What a service and a job are set to; the settings of a job alone are loaded when one is shown. */
export function ServiceSettings(props: Props) {
  const { step, catalogue } = props;
  const known = catalogue.services.get(containerOf(step)?.name ?? "");
  return (
    <>
      {known ? (
        <p className="t2 s">
          <span className="mono">{known.image}</span>
          {", "}
          {known.tag_mode === "pinned"
            ? t.locked(known.tag ?? "")
            : t.selectable(known.pattern ?? "")}
        </p>
      ) : null}
      <KindChoice {...props} />
      {step.job ? (
        <Suspense fallback={<Skeletons count={2} height={52} />}>
          <JobSettings {...props} />
        </Suspense>
      ) : null}
      <Env {...props} />
      <Ports {...props} />
      {step.service ? <ReadinessForm {...props} /> : null}
      <Volumes {...props} />
      <Files {...props} />
    </>
  );
}

/** Whether it keeps running or ends; what the other kind does not have is dropped, and undo is there. */
function KindChoice({ step, problems, onKind }: Props) {
  return (
    <Shell label={t.kind} path="kind" problems={problems}>
      {(id, described) => (
        <ChoiceInput
          id={id}
          described={described}
          value={containerPath(step)}
          options={Object.entries(t.kinds).map(([value, label]) => ({ value, label }))}
          onChange={(next) => onKind(next === "job" ? "job" : "service")}
        />
      )}
    </Shell>
  );
}

function Env({ step, doc, catalogue, problems, onChange }: Props) {
  const [name, setName] = useState("");
  const wrong = name !== "" && name.includes("=");
  const at = `${containerPath(step)}.env`;
  const env = containerOf(step)?.env ?? {};
  const add = () => {
    if (!name || wrong) return;
    onChange(`${at}.${name}`, env[name] ?? "");
    setName("");
  };
  return (
    <Group title={t.env}>
      {Object.entries(env).map(([key, value]) => {
        const path = `${at}.${key}`;
        return (
          <div key={key} className="row top0">
            <div className="grow">
              <Shell
                label={key}
                path={path}
                problems={problems}
                offers={() => referenceOptions(doc, catalogue, step, "any", path)}
                onRefer={(ref, at) => onChange(path, insertReference(value, ref, at))}
              >
                {(id, described, bad) => (
                  <TextInput
                    id={id}
                    described={described}
                    wrong={bad}
                    label={key}
                    mono
                    value={value}
                    onChange={(next) => onChange(path, next ?? "")}
                  />
                )}
              </Shell>
            </div>
            <RemoveButton what={key} onRemove={() => onChange(path, undefined)} />
          </div>
        );
      })}
      <div className="f" data-field={at}>
        <div className="row">
          <div className={`in grow ${wrong ? "err" : ""}`}>
            <input
              className="mono"
              aria-label={t.envName}
              placeholder={t.envName}
              value={name}
              spellCheck={false}
              onChange={(event) => setName(event.target.value)}
              onKeyDown={(event) => event.key === "Enter" && add()}
            />
          </div>
          <Button
            small
            onClick={add}
            reason={wrong ? t.envNameWrong : name ? undefined : t.envNameWrong}
          >
            <Plus className="i sm" aria-hidden="true" /> {t.addEnv}
          </Button>
        </div>
      </div>
    </Group>
  );
}

function Ports(props: Props) {
  type Port = NonNullable<Container["ports"]>[number];
  const { step } = props;
  return (
    <Records<Port>
      title={t.ports}
      path={`${containerPath(step)}.ports`}
      items={containerOf(step)?.ports}
      fresh={{ name: "http", port: 8080 }}
      addLabel={t.addPort}
      step={props}
      row={(port, change) => (
        <>
          <SmallInput label={t.portName} value={port.name} onChange={(name) => change({ name })} />
          <SmallInput
            label={t.portNumber}
            value={String(port.port)}
            onChange={(text) => change({ port: Number.parseInt(text, 10) || 0 })}
          />
          {step.service || port.expose ? (
            <label className="row s">
              <input
                type="checkbox"
                checked={port.expose ?? false}
                onChange={(event) => change({ expose: event.target.checked || undefined })}
              />
              {t.expose}
            </label>
          ) : null}
        </>
      )}
    />
  );
}

function Volumes(props: Props) {
  type Volume = NonNullable<Container["volumes"]>[number];
  return (
    <Records<Volume>
      title={t.volumes}
      path={`${containerPath(props.step)}.volumes`}
      items={containerOf(props.step)?.volumes}
      fresh={{ name: "data", path: "/data" }}
      addLabel={t.addVolume}
      step={props}
      hint={t.volumesHint}
      row={(volume, change) => (
        <>
          <SmallInput
            label={t.volumeName}
            value={volume.name}
            onChange={(name) => change({ name })}
          />
          <SmallInput
            label={t.volumePath}
            value={volume.path}
            onChange={(path) => change({ path })}
          />
          <label className="row s">
            <input
              type="checkbox"
              checked={volume.stays ?? false}
              onChange={(event) => change({ stays: event.target.checked || undefined })}
            />
            {t.volumeStays}
          </label>
          <label className="row s">
            <input
              type="checkbox"
              checked={volume.read_only ?? false}
              onChange={(event) => change({ read_only: event.target.checked || undefined })}
            />
            {t.volumeReadOnly}
          </label>
          <SmallInput
            label={t.volumeShared}
            value={volume.shared ?? ""}
            onChange={(shared) => change({ shared: shared || undefined })}
          />
        </>
      )}
    />
  );
}

function Files(props: Props) {
  type File = NonNullable<Container["files"]>[number];
  const at = `${containerPath(props.step)}.files`;
  return (
    <Records<File>
      title={t.files}
      path={at}
      items={containerOf(props.step)?.files}
      fresh={{ path: "/etc/app/config", content: "" }}
      addLabel={t.addFile}
      step={props}
      shown={/\]\.content/}
      row={(file, change, i) => (
        <>
          <SmallInput label={t.filePath} value={file.path} onChange={(path) => change({ path })} />
          <Content {...props} text={file.content} path={`${at}[${i}].content`} />
        </>
      )}
    />
  );
}

function Content({ text, path, ...props }: Props & { text: string; path: string }) {
  const { doc, catalogue, step, problems, onChange } = props;
  return (
    <Shell
      label={t.fileContent}
      path={path}
      problems={problems}
      offers={() => referenceOptions(doc, catalogue, step, "any", path)}
      onRefer={(ref, at) => onChange(path, insertReference(text, ref, at))}
    >
      {(id, described, wrong) => (
        <textarea
          id={id}
          className={`area mono ${wrong ? "err" : ""}`}
          rows={4}
          spellCheck={false}
          aria-describedby={described}
          aria-invalid={wrong ? true : undefined}
          value={text}
          onChange={(event) => onChange(path, event.target.value)}
        />
      )}
    </Shell>
  );
}
