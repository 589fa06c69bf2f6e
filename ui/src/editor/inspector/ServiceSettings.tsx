import { lazy, Suspense } from "react";
import { loadChunk } from "@/components/loadChunk";
import { Skeletons } from "@/components/States";
import { editorTexts } from "@/editor/editorTexts";
import { type Container, containerOf, containerPath } from "../model/document";
import { Env } from "./EnvEntries";
import { Files } from "./Files";
import { ChoiceInput, Shell } from "./fields";
import { ImageProposals } from "./ImageProposals";
import { ReadinessForm } from "./ReadinessForm";
import { Records, SmallInput, type StepFormProps } from "./records";
import { Volumes } from "./Volumes";

const JobSettings = lazy(() => loadChunk(() => import("./JobSettings")));
const t = editorTexts.step;

/** What a service and a job are set to; the settings of a job alone are loaded when one is shown. */
export function ServiceSettings(props: StepFormProps) {
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
      <ImageProposals {...props} image={props.images.get(containerOf(step)?.name ?? "")} />
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
function KindChoice({ step, problems, onKind }: StepFormProps) {
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

function Ports(props: StepFormProps) {
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
          <div className="row">
            <SmallInput
              label={t.portName}
              value={port.name}
              onChange={(name) => change({ name })}
            />
            <SmallInput
              label={t.portNumber}
              value={String(port.port)}
              onChange={(text) => change({ port: Number.parseInt(text, 10) || 0 })}
            />
          </div>
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
