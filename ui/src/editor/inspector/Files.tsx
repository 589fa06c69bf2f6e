import { editorTexts } from "@/editor/editorTexts";
import { type Container, containerOf, containerPath } from "../model/document";
import { referenceOptions } from "../model/referenceOptions";
import { insertReference } from "../model/references";
import { Shell } from "./fields";
import { Records, SmallInput, type StepFormProps } from "./records";

const t = editorTexts.step;

export function Files(props: StepFormProps) {
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

function Content({ text, path, ...props }: StepFormProps & { text: string; path: string }) {
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
