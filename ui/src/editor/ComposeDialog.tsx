import { Button } from "@/components/Button";
import { Confirm } from "@/components/Overlay";
import { dialogTexts } from "@/editor/dialogTexts";
import type { useCompose } from "./session/useCompose";

const t = dialogTexts.compose;

/** What a Compose file becomes, before anything is added or drawn. */
export default function ComposeDialog({ compose }: { compose: ReturnType<typeof useCompose> }) {
  const { reading, busy } = compose;
  if (!reading) return null;
  const { pipeline, services, registries, notes } = reading;
  return (
    <Confirm
      open
      onClose={compose.close}
      title={t.title(pipeline.steps.length)}
      acts={
        <>
          <Button onClick={compose.close}>{t.cancel}</Button>
          <Button look="ink" busy={busy && t.busy} onClick={compose.apply}>
            {services.length > 0 ? t.add(services.length) : t.draw}
          </Button>
        </>
      }
    >
      {registries.length > 0 ? <p>{t.registries(registries.map((one) => one.host))}</p> : null}
      {services.length > 0 ? (
        <>
          <p>{t.services}</p>
          <ul className="mono s">
            {services.map((one) => (
              <li key={one.name} className="tr">
                {one.name} · {one.image}:{one.tag}
              </li>
            ))}
          </ul>
        </>
      ) : null}
      {notes.length > 0 ? (
        <>
          <p>{t.notes}</p>
          <ul className="s notes">
            {notes.map((one) => (
              <li key={`${one.line} ${one.service} ${one.message}`}>
                {t.note(one.line, one.service, one.message)}
              </li>
            ))}
          </ul>
        </>
      ) : null}
    </Confirm>
  );
}
