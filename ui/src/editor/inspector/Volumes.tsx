import { editorTexts } from "@/editor/editorTexts";
import { type Container, containerOf, containerPath } from "../model/document";
import { Records, SmallInput, type StepFormProps } from "./records";

const t = editorTexts.step;

export function Volumes(props: StepFormProps) {
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
