import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError } from "@/api/client";
import { describe } from "@/components/States";

export type Values = Record<string, unknown>;
export type Errors<V> = Partial<Record<keyof V & string, string>>;

type Options<V, A> = {
  save: (values: V) => Promise<A>;
  saved: (answer: A, values: V) => void;
  /** What can be said before asking the server; a sentence for each field that is wrong. */
  check?: (values: V) => Errors<V>;
};

export type Form<V extends Values = Values> = {
  values: V;
  errors: Errors<V>;
  /** A refusal that belongs to no field. */
  refused?: { message: string; request?: string };
  /** Somebody else saved meanwhile (412, or 409 with the code of it). */
  conflict: boolean;
  dirty: boolean;
  busy: boolean;
  set: (change: Partial<V>) => void;
  submit: () => void;
  /** Takes over what is stored now, after a conflict. */
  restart: (values: V) => void;
};

const CONFLICTS = ["changed", "changed_meanwhile", "precondition_failed", "stale"];

/** The state of one form: values, refusals by field, and whether it differs from what was read. */
export function useForm<V extends Values, A>(initial: V, options: Options<V, A>): Form<V> {
  const [start, setStart] = useState(initial);
  const [values, setValues] = useState(initial);
  const [own, setOwn] = useState<Errors<V>>({});
  const save = useMutation({
    mutationFn: () => options.save(values),
    onSuccess: (answer) => options.saved(answer, values),
  });
  const told = save.error ? refusals<V>(save.error, Object.keys(values)) : undefined;
  return {
    values,
    errors: { ...told?.errors, ...own },
    refused: told?.rest,
    conflict: isConflict(save.error),
    dirty: JSON.stringify(start) !== JSON.stringify(values),
    busy: save.isPending,
    set: (change) => {
      setValues((before) => ({ ...before, ...change }));
      setOwn({});
      if (save.error) save.reset();
    },
    submit: () => {
      if (save.isPending) return;
      const wrong = options.check?.(values) ?? {};
      setOwn(wrong);
      if (Object.keys(wrong).length === 0) save.mutate();
      else focusFirst();
    },
    restart: (next) => {
      setStart(next);
      setValues(next);
      save.reset();
    },
  };
}

function isConflict(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  return (
    error.status === 412 || (error.status === 409 && CONFLICTS.includes(error.problem.code ?? ""))
  );
}

/** Splits a refusal into what belongs to the form's fields and the rest. */
export function refusals<V>(
  error: unknown,
  fields: string[],
): { errors: Errors<V>; rest?: { message: string; request?: string } } {
  const errors: Record<string, string> = {};
  const said = describe(error);
  if (!(error instanceof ApiError)) return { errors: {}, rest: said };
  const { problem } = error;
  const rest: string[] = [];
  for (const one of problem.problems ?? []) {
    const field = fieldOf(one.field, fields);
    if (field) errors[field] = one.message;
    else rest.push(one.field ? `${one.field}: ${one.message}` : one.message);
  }
  const single = fieldOf(problem.field ?? "", fields);
  if (single && !errors[single]) errors[single] = said.message;
  if (rest.length > 0)
    return { errors: errors as Errors<V>, rest: { ...said, message: rest.join(" ") } };
  return { errors: errors as Errors<V>, rest: Object.keys(errors).length > 0 ? undefined : said };
}

/** "placement.required.0" belongs to the field "placement" when there is no closer one. */
function fieldOf(path: string, fields: string[]): string | undefined {
  const parts = path.replace(/^\/|^body\./, "").split(/[./[\]]+/);
  for (let length = parts.length; length > 0; length--) {
    const name = parts.slice(0, length).join(".");
    if (fields.includes(name)) return name;
  }
  return undefined;
}

function focusFirst() {
  requestAnimationFrame(() =>
    document.querySelector<HTMLElement>("[role=dialog] [aria-invalid=true]")?.focus(),
  );
}
