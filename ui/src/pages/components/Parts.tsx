import { Button } from "@/components/Button";
import { CopyButton } from "@/components/Copy";
import { Field } from "@/components/Field";
import { EmptyState, ErrorState, Skeletons } from "@/components/States";
import { Notice, Pill, Rail, StatusMark } from "@/components/Status";
import { Time } from "@/components/Time";
import { CheckField, ReadOnly, SelectField, TextArea } from "@/forms/Fields";
import type { Form } from "@/forms/useForm";
import { galleryTexts as t } from "@/pages/components/galleryTexts";
import { texts } from "@/texts";
import { Acted, look } from "./Acted";
import { refusal } from "./examples";
import { Part } from "./Part";

export function Buttons() {
  const looks = ["ink", "plain", "ghost", "danger"] as const;
  return (
    <Part title={t.sections.buttons}>
      {looks.map((look) => (
        <div key={look} className="row flex-wrap">
          <Button look={look}>{t.label}</Button>
          <Button look={look} small>
            {t.pickers.small}
          </Button>
          {(["hover", "focus", "pressed"] as const).map((as) => (
            <Button key={as} look={look} data-look={as}>
              {t.looks[as]}
            </Button>
          ))}
          <Button look={look} busy={t.busy}>
            {t.short}
          </Button>
          <Button look={look} reason={t.reason}>
            {t.looks.disabled}
          </Button>
        </div>
      ))}
    </Part>
  );
}

const form = (errors: Record<string, string>): Form => ({
  values: { text: t.value, choice: "a", yes: true, no: false },
  errors,
  known: new Map(),
  dirty: false,
  busy: false,
  set: () => {},
  submit: () => {},
  side: () => {},
  restart: () => {},
});

export function Fields() {
  const options = [{ value: "a", label: t.value }];
  const wrong = form({ text: t.wrong, choice: t.wrong });
  return (
    <Part title={t.sections.fields}>
      <Field label={t.field} hint={t.hint} placeholder={t.value} />
      <Field label={t.field} hint={t.hint} defaultValue={t.value} mono />
      <Acted act={look(".in", "focus")}>
        <Field label={t.looks.focus} defaultValue={t.value} mono />
      </Acted>
      <Field label={t.field} error={t.wrong} defaultValue="Cart Redesign" mono />
      <TextArea form={form({})} name="text" label={t.field} hint={t.hint} rows={2} />
      <TextArea form={wrong} name="text" label={t.field} rows={2} mono />
      <SelectField form={form({})} name="choice" label={t.field} options={options} />
      <SelectField form={wrong} name="choice" label={t.field} options={options} />
      <CheckField form={form({})} name="yes" label={t.field} hint={t.hint} />
      <CheckField form={form({})} name="no" label={t.field} />
      <Acted className="col gap-3" act={look("select", "focus")}>
        <SelectField form={form({})} name="choice" label={t.looks.focus} options={options} />
        <Acted act={look("input", "focus")}>
          <CheckField form={form({})} name="yes" label={t.looks.focus} />
        </Acted>
      </Acted>
      <Field label={t.looks.locked} locked={t.reason} defaultValue={t.value} mono />
      <ReadOnly value={true}>
        <TextArea form={form({})} name="text" label={t.looks.locked} rows={2} />
        <SelectField form={form({})} name="choice" label={t.looks.locked} options={options} />
        <CheckField form={form({})} name="yes" label={t.looks.locked} hint={t.reason} />
      </ReadOnly>
    </Part>
  );
}

export function States() {
  return (
    <Part title={t.sections.states}>
      <ul className="stategrid">
        {[...Object.keys(texts.states), "made-up"].map((state) => (
          <li key={state} className="row">
            <span className="row h-6">
              <Rail state={state} />
            </span>
            <StatusMark state={state} share={0.6} />
            <Pill state={state} share={0.6} />
          </li>
        ))}
      </ul>
    </Part>
  );
}

export function Notices() {
  return (
    <Part title={t.sections.notices}>
      {["offline", "untrusted", "warn", "failed"].map((state) => (
        <Notice key={state} state={state} title={t.notice}>
          {t.noticeMore}
        </Notice>
      ))}
      {["failed", "warn", "ready", "applying"].map((state) => (
        <div key={state} className="box" data-st={state}>
          <StatusMark state={state} />
          <span className="t2">{t.noticeMore}</span>
        </div>
      ))}
    </Part>
  );
}

export function Pages() {
  return (
    <Part title={t.sections.page}>
      <div className="framed pb-6">
        <EmptyState title={t.emptyTitle} act={<Button look="ink">{t.label}</Button>}>
          {t.empty}
        </EmptyState>
      </div>
      <ErrorState what={t.unread} error={refusal} retry={() => {}} stale={t.stale} />
      <Skeletons count={3} />
    </Part>
  );
}

export function Small() {
  return (
    <Part title={t.sections.small}>
      <div className="row flex-wrap">
        <span className="chip">
          web <span className="mono">feat-cart…-51d0e7b</span>
        </span>
        <kbd>Ctrl K</kbd>
        <a className="link" href="#main">
          {t.value}
        </a>
        <Time at={new Date(Date.now() - 90_000).toISOString()} />
        <CopyButton text={t.value} what={t.field} />
      </div>
      <div className="codebox">
        <pre>nullops apply -f shop.yaml</pre>
        <CopyButton text="nullops apply -f shop.yaml" what={t.field} />
      </div>
      <p className="thumb new">A1B2 C3D4 E5F6 0718</p>
      <p className="thumb old">A1B2 C3D4 E5F6 0718</p>
    </Part>
  );
}

export function Tables() {
  return (
    <Part title={t.sections.tables}>
      <div className="tabs">
        <span className="tab" aria-current="page">
          {t.light} <span className="n">3</span>
        </span>
        <span className="tab">{t.dark}</span>
      </div>
      <fieldset className="seg self-start" aria-label={t.sections.tables}>
        <button type="button" aria-pressed="true">
          {t.light}
        </button>
        <button type="button" aria-pressed="false">
          {t.dark}
        </button>
      </fieldset>
      <div className="framed">
        <table className="tbl">
          <thead>
            <tr>
              <th>{t.field}</th>
              <th className="num">{t.sections.tables}</th>
            </tr>
          </thead>
          <tbody>
            {["cart-redesign", "vat-rounding"].map((name) => (
              <tr key={name}>
                <td>
                  <b>{name}</b>
                </td>
                <td className="num">12</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Part>
  );
}
