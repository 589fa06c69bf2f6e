import { Plus, X } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Button } from "@/components/Button";
import { editorTexts } from "@/editorTexts";
import { Choice, Lines, Numeric, Shell, Text } from "./fields";
import type { Panel } from "./inspectorParts";
import type { Step } from "./model";
import { offersOf } from "./offers";

const t = editorTexts.step;
type Props = Panel & { step: Step };
type Service = NonNullable<Step["service"]>;

export function ServiceSettings(props: Props) {
  const { step, catalogue } = props;
  const known = catalogue.services.get(step.service?.name ?? "");
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
      <Env {...props} />
      <Ports {...props} />
      <Ready {...props} />
      <Volumes {...props} />
      <Files {...props} />
    </>
  );
}

function Env({ step, doc, catalogue, problems, onChange }: Props) {
  const [name, setName] = useState("");
  const wrong = name !== "" && !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
  const env = Object.entries(step.service?.env ?? {});
  const add = () => {
    if (!name || wrong) return;
    onChange(`service.env.${name}`, step.service?.env?.[name] ?? "");
    setName("");
  };
  return (
    <Group title={t.env}>
      {env.map(([key, value]) => {
        const path = `service.env.${key}`;
        return (
          <div key={key} className="row top0">
            <div className="grow">
              <Shell
                label={key}
                path={path}
                problems={problems}
                offers={offersOf(doc, catalogue, step, "any", path)}
                onRefer={(text) => onChange(path, `${value}${text}`)}
              >
                {(id, described, bad) => (
                  <Text
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
            <Remove what={key} onRemove={() => onChange(path, undefined)} />
          </div>
        );
      })}
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
    </Group>
  );
}

/** A list of small records, each in a row of its own. */
function Records<T>(props: {
  title: string;
  path: string;
  items: T[] | undefined;
  fresh: T;
  addLabel: string;
  step: Props;
  hint?: string;
  row: (item: T, change: (next: Partial<T>) => void, i: number) => ReactNode;
}) {
  const { items = [], path } = props;
  const { onChange, problems } = props.step;
  const set = (next: T[]) => onChange(path, next.length > 0 ? next : undefined);
  const own = problems.filter((one) => one.field.startsWith(`${path}[`) || one.field === path);
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
            <Remove
              what={`${props.title} ${i + 1}`}
              onRemove={() => set(items.filter((_, at) => at !== i))}
            />
          </div>
        ))}
        {own.map((one) => (
          <div key={one.field + one.message} className="er" data-st="failed">
            <span>{one.message}</span>
          </div>
        ))}
        <Button small className="self-start" onClick={() => set([...items, props.fresh])}>
          <Plus className="i sm" aria-hidden="true" /> {props.addLabel}
        </Button>
      </div>
    </Group>
  );
}

function Ports(props: Props) {
  type Port = NonNullable<Service["ports"]>[number];
  return (
    <Records<Port>
      title={t.ports}
      path="service.ports"
      items={props.step.service?.ports}
      fresh={{ name: "http", port: 8080 }}
      addLabel={t.addPort}
      step={props}
      row={(port, change) => (
        <>
          <Small label={t.portName} value={port.name} onChange={(name) => change({ name })} />
          <Small
            label={t.portNumber}
            value={String(port.port)}
            onChange={(text) => change({ port: Number.parseInt(text, 10) || 0 })}
          />
          <label className="row s">
            <input
              type="checkbox"
              checked={port.expose ?? false}
              onChange={(event) => change({ expose: event.target.checked || undefined })}
            />
            {t.expose}
          </label>
        </>
      )}
    />
  );
}

function Volumes(props: Props) {
  type Volume = NonNullable<Service["volumes"]>[number];
  return (
    <Records<Volume>
      title={t.volumes}
      path="service.volumes"
      items={props.step.service?.volumes}
      fresh={{ name: "data", path: "/data" }}
      addLabel={t.addVolume}
      step={props}
      hint={t.volumesHint}
      row={(volume, change) => (
        <>
          <Small label={t.volumeName} value={volume.name} onChange={(name) => change({ name })} />
          <Small label={t.volumePath} value={volume.path} onChange={(path) => change({ path })} />
          <label className="row s">
            <input
              type="checkbox"
              checked={volume.stays ?? false}
              onChange={(event) => change({ stays: event.target.checked || undefined })}
            />
            {t.volumeStays}
          </label>
        </>
      )}
    />
  );
}

function Files(props: Props) {
  type File = NonNullable<Service["files"]>[number];
  return (
    <Records<File>
      title={t.files}
      path="service.files"
      items={props.step.service?.files}
      fresh={{ path: "/etc/app/config", content: "" }}
      addLabel={t.addFile}
      step={props}
      row={(file, change) => (
        <>
          <Small label={t.filePath} value={file.path} onChange={(path) => change({ path })} />
          <textarea
            className="area mono"
            aria-label={t.fileContent}
            rows={4}
            spellCheck={false}
            value={file.content}
            onChange={(event) => change({ content: event.target.value })}
          />
        </>
      )}
    />
  );
}

type ReadyKind = keyof typeof t.readyKinds;

function Ready({ step, problems, onChange }: Props) {
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
          <Choice
            id={id}
            described={described}
            value={kind}
            options={Object.entries(t.readyKinds).map(([value, label]) => ({ value, label }))}
            onChange={choose}
          />
          {ready?.http || ready?.tcp ? (
            <Small
              label={t.readyPort}
              value={String((ready.http ?? ready.tcp)?.port ?? "")}
              onChange={(text) => {
                const port = Number.parseInt(text, 10) || 0;
                set(ready.http ? { http: { ...ready.http, port } } : { tcp: { port } });
              }}
            />
          ) : null}
          {ready?.http ? (
            <Small
              label={t.readyPath}
              value={ready.http.path}
              onChange={(path) => set({ http: { ...ready.http, path } })}
            />
          ) : null}
          {ready?.command ? (
            <div className="col">
              <label className="hint" htmlFor={`${id}-command`}>
                {t.readyCommand}
              </label>
              <Lines
                id={`${id}-command`}
                value={ready.command}
                onChange={(next) => set({ command: next ?? [] })}
              />
            </div>
          ) : null}
        </div>
      )}
    </Shell>
  );
}

export function ApprovalSettings({ step, problems, onChange }: Props) {
  const approval = step.approval;
  return (
    <>
      <Shell
        label={t.prompt}
        path="approval.prompt"
        hint={t.promptHint}
        required
        problems={problems}
      >
        {(id, described, wrong) => (
          <Text
            id={id}
            described={described}
            wrong={wrong}
            label={t.prompt}
            rows={3}
            value={approval?.prompt ?? ""}
            onChange={(text) => onChange("approval.prompt", text ?? "")}
          />
        )}
      </Shell>
      {(["teams", "users"] as const).map((who) => (
        <Shell
          key={who}
          label={t[who]}
          path={`approval.${who}`}
          hint={t.answerHint}
          problems={problems}
        >
          {(id, described) => (
            <Lines
              id={id}
              described={described}
              value={approval?.[who]}
              onChange={(next) => onChange(`approval.${who}`, next)}
            />
          )}
        </Shell>
      ))}
      <Shell label={t.timeout} path="approval.timeout_seconds" problems={problems}>
        {(id, described, wrong) => (
          <Numeric
            id={id}
            described={described}
            wrong={wrong}
            label={t.timeout}
            placeholder="86400"
            value={approval?.timeout_seconds}
            onChange={(next) => onChange("approval.timeout_seconds", next)}
          />
        )}
      </Shell>
    </>
  );
}

function Group({ title, hint, children }: { title: string; hint?: string; children: ReactNode }) {
  return (
    <section className="grp" aria-label={title}>
      <h3>{title}</h3>
      {children}
      {hint ? <div className="hint">{hint}</div> : null}
    </section>
  );
}

function Small(props: { label: string; value: string; onChange: (text: string) => void }) {
  return (
    <div className="in sm">
      <input
        className="mono"
        aria-label={props.label}
        placeholder={props.label}
        title={props.label}
        value={props.value}
        spellCheck={false}
        onChange={(event) => props.onChange(event.target.value)}
      />
    </div>
  );
}

function Remove({ what, onRemove }: { what: string; onRemove: () => void }) {
  return (
    <Button look="ghost" small icon aria-label={t.removeField(what)} onClick={onRemove}>
      <X className="i sm" aria-hidden="true" />
    </Button>
  );
}
