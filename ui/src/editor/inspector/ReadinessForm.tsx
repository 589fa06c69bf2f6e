import { editorTexts } from "@/editor/editorTexts";
import { ChoiceInput, LinesInput, Shell } from "./fields";
import { SmallInput, type StepFormProps } from "./records";

const t = editorTexts.step;
type ReadyKind = keyof typeof t.readyKinds;

export function ReadinessForm({ step, problems, onChange }: StepFormProps) {
  const ready = step.service?.ready;
  const first = step.service?.ports?.[0]?.port ?? 8080;
  const kind: ReadyKind = ready?.http
    ? "http"
    : ready?.tcp
      ? "tcp"
      : ready?.command
        ? "command"
        : ready?.image
          ? "image"
          : "none";
  const { http: _h, tcp: _t, command: _c, image: _i, ...times } = ready ?? {};
  const choose = (next: string) => {
    const made = {
      http: { http: { port: first, path: "/" } },
      tcp: { tcp: { port: first } },
      command: { command: ["true"] },
      image: { image: true },
      none: undefined,
    }[next as ReadyKind];
    onChange("service.ready", made && { ...times, ...made });
  };
  const set = (part: object) => onChange("service.ready", { ...ready, ...part });
  return (
    <Shell label={t.ready} path="service.ready" problems={problems}>
      {(id, described) => (
        <div className="recs">
          <ChoiceInput
            id={id}
            described={described}
            value={kind}
            options={Object.entries(t.readyKinds).map(([value, label]) => ({ value, label }))}
            onChange={choose}
          />
          {ready?.http || ready?.tcp ? (
            <SmallInput
              label={t.readyPort}
              value={String((ready.http ?? ready.tcp)?.port ?? "")}
              onChange={(text) => {
                const port = Number.parseInt(text, 10) || 0;
                set(ready.http ? { http: { ...ready.http, port } } : { tcp: { port } });
              }}
            />
          ) : null}
          {ready?.http ? (
            <SmallInput
              label={t.readyPath}
              value={ready.http.path}
              onChange={(path) => set({ http: { ...ready.http, path } })}
            />
          ) : null}
          {ready?.http ? (
            <Whole
              label={t.readyStatus}
              value={ready.http.status}
              onChange={(status) => set({ http: { ...ready.http, status } })}
            />
          ) : null}
          {ready?.command ? (
            <div className="col">
              <label className="hint" htmlFor={`${id}-command`}>
                {t.readyCommand}
              </label>
              <LinesInput
                id={`${id}-command`}
                value={ready.command}
                onChange={(next) => set({ command: next ?? [] })}
              />
            </div>
          ) : null}
          {ready ? <Times ready={ready} onChange={set} /> : null}
        </div>
      )}
    </Shell>
  );
}

type Readiness = NonNullable<NonNullable<StepFormProps["step"]["service"]>["ready"]>;

/** How often it is asked, and how patiently; empty is what the agent does by itself. */
function Times({ ready, onChange }: { ready: Readiness; onChange: (part: object) => void }) {
  return Object.entries(t.readyTimes).map(([name, label]) => (
    <Whole
      key={name}
      label={label}
      value={ready[name as keyof typeof t.readyTimes]}
      onChange={(value) => onChange({ [name]: value })}
    />
  ));
}

type WholeProps = {
  label: string;
  value: number | undefined;
  onChange: (value: number | undefined) => void;
};

/** A whole number with its name above it. */
function Whole({ label, value, onChange }: WholeProps) {
  return (
    <label className="col">
      <span className="hint">{label}</span>
      <span className="in sm">
        <input
          className="mono"
          inputMode="numeric"
          value={value ?? ""}
          onChange={(event) => onChange(Number.parseInt(event.target.value, 10) || undefined)}
        />
      </span>
    </label>
  );
}
