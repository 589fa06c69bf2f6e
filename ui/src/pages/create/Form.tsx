import { type KeyboardEvent, type RefObject, useMemo, useRef } from "react";
import { Field } from "@/components/Field";
import { Sheet } from "@/components/Overlay";
import { EmptyState } from "@/components/States";
import { InputFields } from "@/forms/InputFields";
import { createTexts } from "@/pages/create/createTexts";
import { deployTexts } from "@/pages/deployTexts";
import { Branch } from "./Branch";
import { CloneDiffers } from "./CloneDiffers";
import { Deadline } from "./Deadline";
import { FormFooter } from "./FormFooter";
import { FormHeader } from "./FormHeader";
import { PlaceNotice } from "./PlaceNotice";
import { Preflight } from "./Preflight";
import { RequiredLabels } from "./RequiredLabels";
import { countRefusals } from "./refusal";
import { SaveTemplate } from "./SaveTemplate";
import { Summary } from "./Summary";
import { saysGone, TemplateNotice } from "./TemplateNotice";
import { hasPipeline, type Read } from "./target";
import { useLeave } from "./useLeave";
import { type SheetState, useSheet } from "./useSheet";
import { Versions } from "./Versions";

const t = createTexts;

/** The sheet, when all that it is drawn from was read. */
export function Form({ read, leave }: { read: Read; leave: () => void }) {
  const sheet = useSheet(read);
  const { clone, busy, draft, place } = sheet;
  const first = useRef<HTMLInputElement>(null);
  const { close, question } = useLeave({ dirty: draft.dirty, busy, leave });
  const empty = !read.projects.some(hasPipeline) || read.environments.length === 0;
  const keys = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    // On a button it would press that one too.
    event.preventDefault();
    sheet.submit();
  };
  const setWait = (wait: boolean) => {
    draft.setWait(wait);
    sheet.change();
  };
  return (
    <Sheet
      open
      onClose={close}
      title={clone ? deployTexts.clone.title(clone.source.name) : t.title}
      head={<FormHeader read={read} sheet={sheet} />}
      foot={<SheetFoot sheet={sheet} />}
      focus={first}
      onKey={keys}
    >
      {empty ? (
        <EmptyState title={t.noneTitle}>{t.none}</EmptyState>
      ) : (
        <div className="sg">
          <Fields sheet={sheet} first={first} />
          <Summary
            project={place.project}
            environment={place.environment}
            name={draft.name}
            refusal={sheet.refusal}
            checks={
              <Preflight
                project={place.project?.name ?? ""}
                checks={sheet.checks}
                open={sheet.open}
                placed={sheet.refusal.placement.length > 0}
                waits={draft.waits}
                setWait={setWait}
              />
            }
          />
        </div>
      )}
      {question}
    </Sheet>
  );
}

type FieldsProps = { sheet: SheetState; first: RefObject<HTMLInputElement | null> };

function Fields({ sheet, first }: FieldsProps) {
  const { asked, clone, draft, place, change, set, submit } = sheet;
  const { fields } = sheet.refusal;
  const { chosen } = draft.versions;
  return (
    <div className="form">
      <PlaceNotice problems={[...place.problems, fields.project, fields.environment]} />
      <TemplateNotice {...asked} without={() => set({ template: undefined })} />
      <Field
        ref={first}
        label={t.name}
        mono
        spellCheck={false}
        autoCapitalize="none"
        maxLength={40}
        value={draft.name}
        error={fields.name}
        hint={t.nameHint}
        onChange={(event) => {
          draft.type(event.target.value);
          change();
        }}
        // With Ctrl the sheet submits.
        onKeyDown={({ key, ctrlKey, metaKey }) =>
          key === "Enter" && !ctrlKey && !metaKey && submit()
        }
      />
      <Chosen sheet={sheet} />
      <InputFields
        fields={sheet.fields}
        typed={draft.input}
        begun={draft.begunInput}
        refused={fields}
        clone={clone}
        set={(name, text) => {
          draft.setInput(name, text);
          change();
        }}
      />
      <Deadline
        value={draft.minutes}
        error={fields.deadline}
        set={(next) => {
          draft.setMinutes(next);
          change();
        }}
      />
      <RequiredLabels
        value={draft.labels}
        error={fields.labels}
        set={(next) => {
          draft.setLabels(next);
          change();
        }}
      />
      {clone ? (
        <CloneDiffers clone={clone} environment={place.environment?.name} chosen={chosen} />
      ) : null}
    </div>
  );
}

function Chosen({ sheet: { place, clone, draft, refusal, change } }: { sheet: SheetState }) {
  const { project } = place;
  const source = useMemo(
    () => clone && new Map(clone.services.map((one) => [one.step, one])),
    [clone],
  );
  if (!project) return null;
  return (
    <Versions
      project={project}
      versions={draft.versions}
      refused={refusal.fields}
      changed={change}
      source={source}
      branch={
        <Branch
          key={project.name}
          project={project.name}
          versions={draft.versions}
          choose={(step, tag, branch) => {
            draft.versions.choose(step, tag, branch);
            change();
          }}
        />
      }
    />
  );
}

function SheetFoot({ sheet }: { sheet: SheetState }) {
  const { asked, body, busy, open, place, reason, refusal, submit } = sheet;
  const { project } = place;
  return (
    <FormFooter
      count={countRefusals(refusal) + open.length}
      template={
        project?.can_create ? (
          <SaveTemplate project={project.name} environment={body.environment} body={body} />
        ) : null
      }
      busy={busy}
      reason={reason}
      said={place.problems.includes(reason ?? "") || saysGone(asked, reason)}
      submit={submit}
    />
  );
}
