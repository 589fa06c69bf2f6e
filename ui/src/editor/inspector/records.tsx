import { Plus, X } from "lucide-react";
import { type ReactNode, type Ref, useId } from "react";
import { Button } from "@/components/Button";
import { editorTexts } from "@/editor/editorTexts";
import type { Step } from "../model/document";
import { isAt } from "../model/problems";
import { FieldProblems } from "./fields";
import type { InspectorPartProps } from "./inspectorProps";

const t = editorTexts.step;
/** What every form of a step is given. */
export type StepFormProps = InspectorPartProps & { step: Step };

/** A list of small records, each in a row of its own. */
export function Records<T>(props: {
  title: string;
  path: string;
  items: T[] | undefined;
  fresh: T;
  addLabel: string;
  step: Pick<InspectorPartProps, "onChange" | "problems">;
  hint?: string;
  /** Fields that show in their row what is wrong with them. */
  shown?: RegExp;
  row: (item: T, change: (next: Partial<T>) => void, i: number) => ReactNode;
}) {
  const { items = [], path } = props;
  const { onChange, problems } = props.step;
  const set = (next: T[]) => onChange(path, next.length > 0 ? next : undefined);
  const own = problems.filter((one) => isAt(one.field, path) && !props.shown?.test(one.field));
  return (
    <Group title={props.title} hint={props.hint}>
      <div className="f" data-field={path}>
        {items.map((item, i) => (
          <div key={i} className="row top0">
            <div className="recs grow">
              {props.row(
                item,
                (next) => set(items.map((one, at) => (at === i ? { ...one, ...next } : one))),
                i,
              )}
            </div>
            <RemoveButton
              what={`${props.title} ${i + 1}`}
              onRemove={() => set(items.filter((_, at) => at !== i))}
            />
          </div>
        ))}
        <FieldProblems problems={own} />
        <Button small className="self-start" onClick={() => set([...items, props.fresh])}>
          <Plus className="i sm" aria-hidden="true" /> {props.addLabel}
        </Button>
      </div>
    </Group>
  );
}

export function Group({
  title,
  hint,
  children,
}: {
  title: string;
  hint?: string;
  children: ReactNode;
}) {
  return (
    <section className="grp" aria-label={title}>
      <h3>{title}</h3>
      {children}
      {hint ? <div className="hint">{hint}</div> : null}
    </section>
  );
}

type SmallProps = {
  id?: string;
  label: string;
  /** Instead of the name above it, where a name is asked for beside its button. */
  placeholder?: string;
  value: string;
  onChange: (text: string) => void;
  onEnter?: () => void;
  ref?: Ref<HTMLInputElement>;
};

/** A short text with its name above it, which stays once something is typed; an `id` is named elsewhere. */
export function SmallInput({ id, label, value, onChange, onEnter, ...rest }: SmallProps) {
  const own = useId();
  const field = (
    <span className="in sm">
      <input
        id={id ?? own}
        ref={rest.ref}
        className="mono"
        aria-label={label}
        placeholder={rest.placeholder}
        title={label}
        value={value}
        spellCheck={false}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => event.key === "Enter" && onEnter?.()}
      />
    </span>
  );
  if (id || rest.placeholder) return field;
  return (
    <div className="col grow">
      <label className="hint" htmlFor={own}>
        {label}
      </label>
      {field}
    </div>
  );
}

export function RemoveButton({ what, onRemove }: { what: string; onRemove: () => void }) {
  return (
    <Button look="ghost" small icon aria-label={t.removeField(what)} onClick={onRemove}>
      <X className="i sm" aria-hidden="true" />
    </Button>
  );
}
