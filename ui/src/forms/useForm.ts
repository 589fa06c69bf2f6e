import { useMutation } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { ApiError, isNotFound } from "@/api/client";
import { describeError } from "@/components/States";
import { type Change, changesSince, type Opened, type Side, sideOf, standsOn } from "./conflict";
import type { Tagged } from "./etag";

export type Values = Record<string, unknown>;
export type Errors<V> = Partial<Record<keyof V & string, string>>;

type Options<V, A, T> = {
  /** `over` is what is replaced, as it was read; nothing when something new is made. */
  save: (values: V, over: Tagged<T> | undefined) => Promise<A>;
  saved: (answer: A, values: V) => void;
  /** What can be said before asking the server; a sentence for each field that is wrong. */
  check?: (values: V) => Errors<V>;
  /** What the form was opened on, and how its fields show it. With both, two people can't overwrite each other. */
  opened?: Opened<T>;
  valuesOf?: (stored: T) => V;
};

/** A field's label and how to display its values, for messages elsewhere. */
export type FieldLabel = { label: string; say?: (value: unknown) => string };

export type Form<V extends Values = Values> = {
  values: V;
  errors: Errors<V>;
  /** A refusal that belongs to no field. */
  refused?: { message: string; request?: string };
  /** Somebody else created, changed or deleted the object, and the changes cannot be listed. */
  conflict?: "made" | "changed" | "gone";
  /** What somebody else changed meanwhile, and which fields still need a choice. */
  meanwhile?: { changes: Change[]; undecided: string[] };
  known: Map<string, FieldLabel>;
  dirty: boolean;
  /** A save is under way: the fields are read only until it is answered. */
  busy: boolean;
  set: (change: Partial<V>) => void;
  submit: () => void;
  /** Puts fields that changed meanwhile on one side: "theirs" all; "mine" all that nothing else was typed in, and saves. */
  side: (side: Side) => void;
  /** Resets the form to other values. */
  restart: (values: V) => void;
};

const CONFLICTS = ["changed", "changed_meanwhile", "precondition_failed", "stale"];

/** The state of one form: values, refusals by field, and whether it differs from what was read. */
export function useForm<V extends Values, A, T = never>(
  initial: V,
  options: Options<V, A, T>,
): Form<V> {
  const [start, setStart] = useState(initial);
  const [values, setValues] = useState(initial);
  const [own, setOwn] = useState<Errors<V>>({});
  const [known] = useState(() => new Map<string, FieldLabel>());
  const base = useBase(options);
  const save = useMutation({
    mutationFn: (wanted: V) => base.save(start, wanted),
    onSuccess: (answer, wanted) => options.saved(answer, wanted),
    onError: (error) => {
      if (!(error instanceof Met)) return;
      setStart(error.theirs as V);
      setValues((before) => ({ ...before, ...sideOf(untouched(error.changes), "theirs") }));
    },
  });
  const refusal = save.error instanceof Met ? undefined : save.error;
  const told = refusal ? refusals<V>(refusal, Object.keys(values)) : undefined;
  const begin = (wanted: V) => {
    const wrong = options.check?.(wanted) ?? {};
    setOwn(wrong);
    if (Object.keys(wrong).length === 0) save.mutate(wanted);
    else focusFirst();
  };
  return {
    values,
    errors: { ...told?.errors, ...own },
    refused: told?.rest,
    conflict: conflictOf(refusal, options.opened !== undefined),
    meanwhile: base.meanwhile,
    known,
    dirty: JSON.stringify(start) !== JSON.stringify(values),
    busy: save.isPending,
    set: (change) => {
      // What is typed now would be neither in what is saved nor in the sheet that closes over it.
      if (save.isPending) return;
      setValues((before) => ({ ...before, ...change }));
      setOwn({});
      base.decide(Object.keys(change));
      if (save.error) save.reset();
    },
    submit: () => {
      if (!save.isPending && !base.meanwhile?.undecided.length) begin(values);
    },
    side: (side) => {
      const changes = base.meanwhile?.changes ?? [];
      const next = {
        ...values,
        ...sideOf(side === "mine" ? unlessTyped(changes, values) : changes, side),
      };
      setValues(next);
      base.settle();
      if (side === "mine") begin(next);
      else save.reset();
    },
    restart: (next) => {
      setStart(next);
      setValues(next);
      base.settle();
      save.reset();
    },
  };
}

/** Fields that only the other user changed: taken over unless the user reverts them. */
const untouched = (changes: Change[]) => changes.filter((one) => !one.both);

/** What was typed since the box appeared is mine too, and newer than what the box says. */
const unlessTyped = (changes: Change[], values: Values) =>
  changes.filter((one) => standsOn(one, values[one.name]) !== undefined);

/** A save conflicted with somebody else's, in fields of the form. */
class Met extends Error {
  constructor(
    readonly theirs: Values,
    readonly changes: Change[],
  ) {
    super("changed meanwhile");
  }
}

/** How often a save is retried after a concurrent change of other fields. */
const TRIES = 3;

/** The version that the next save replaces. After a conflict it is the other user's. */
function useBase<V extends Values, A, T>({ save, opened, valuesOf }: Options<V, A, T>) {
  const over = useRef<Tagged<T> | undefined>(opened);
  const [changes, setChanges] = useState<Change[]>([]);
  const [decided, setDecided] = useState<string[]>([]);
  const settle = () => setChanges([]);
  return {
    save: async (start: V, wanted: V): Promise<A> => {
      for (let tries = 1; ; tries++) {
        try {
          return await save(wanted, over.current);
        } catch (error) {
          if (!opened || !valuesOf || !isConflict(error)) throw error;
          over.current = await opened.again();
          const theirs = valuesOf(over.current.value);
          const met = changesSince(start, theirs, wanted);
          if (met.length === 0 && tries < TRIES) continue;
          if (met.length === 0) throw error;
          setChanges(met);
          setDecided([]);
          throw new Met(theirs, met);
        }
      }
    },
    meanwhile:
      changes.length === 0 ? undefined : { changes, undecided: openConflicts(changes, decided) },
    decide: (names: string[]) => setDecided((before) => [...before, ...names]),
    settle,
  };
}

const openConflicts = (changes: Change[], decided: string[]) =>
  changes.filter((one) => one.both && !decided.includes(one.name)).map((one) => one.name);

function isConflict(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  return (
    error.status === 412 || (error.status === 409 && CONFLICTS.includes(error.problem.code ?? ""))
  );
}

function conflictOf(error: unknown, stored: boolean): Form["conflict"] {
  if (stored && isNotFound(error)) return "gone";
  if (!isConflict(error)) return undefined;
  return stored ? "changed" : "made";
}

/** Splits a refusal into problems of the form's fields and the rest. */
export function refusals<V>(
  error: unknown,
  fields: string[],
): { errors: Errors<V>; rest?: { message: string; request?: string } } {
  const errors: Record<string, string> = {};
  const said = describeError(error);
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
