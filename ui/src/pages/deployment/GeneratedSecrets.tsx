import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { ask, client, type Deployment } from "@/api/client";
import { Button } from "@/components/Button";
import { Refusal } from "@/components/Field";
import { Confirm } from "@/components/Overlay";
import { describeError } from "@/components/States";
import { deployTexts } from "@/pages/deployTexts";
import { texts } from "@/texts";
import { OneTimeSecret } from "../people/OneTimeSecret";
import { ReadFailed } from "./ReadFailed";

const t = deployTexts.secrets;
/** How long a revealed value stays on the page. */
export const REVEALED_FOR = 60_000;

/** The secrets that were generated for a deployment. Who has full access may see one, which is audited. */
export function GeneratedSecrets({ deployment }: { deployment: Deployment }) {
  const { id, level } = deployment;
  const query = useQuery({
    queryKey: ["deployment", id, "secrets"],
    queryFn: () =>
      ask(client.GET("/api/v1/deployments/{id}/secrets", { params: { path: { id } } })),
  });
  if (query.data?.items.length === 0) return null;
  return (
    <section aria-label={t.title} className="flex max-w-160 flex-col gap-2">
      <h2>{t.title}</h2>
      <ReadFailed what={t.unread} query={query} />
      {query.data?.items.map(({ name }) => (
        <Row key={name} id={id} name={name} may={level === "full"} />
      ))}
    </section>
  );
}

function Row({ id, name, may }: { id: string; name: string; may: boolean }) {
  const [asked, setAsked] = useState(false);
  // The value lives in this component only: it goes with the page, and no cache has it.
  const [value, setValue] = useState<string>();
  const reveal = useMutation({
    gcTime: 0,
    mutationFn: async () => {
      const params = { path: { id, secret: name } };
      const url = "/api/v1/deployments/{id}/secrets/{secret}/reveal";
      setValue((await ask(client.POST(url, { params }))).value);
    },
    onSuccess: () => setAsked(false),
  });
  useEffect(() => {
    if (value === undefined) return;
    const hide = setTimeout(() => setValue(undefined), REVEALED_FOR);
    return () => clearTimeout(hide);
  }, [value]);
  const close = () => {
    setAsked(false);
    reveal.reset();
  };
  return (
    <div className="col gap-2">
      <span className="row">
        <code className="mono grow">{name}</code>
        {may && value === undefined ? (
          <Button small aria-label={t.revealOf(name)} onClick={() => setAsked(true)}>
            {t.reveal}
          </Button>
        ) : null}
      </span>
      {value === undefined ? null : (
        <OneTimeSecret text={value} what={name}>
          {t.shown}
        </OneTimeSecret>
      )}
      <Confirm
        open={asked}
        onClose={close}
        title={t.revealOf(name)}
        acts={
          <>
            <Button onClick={close}>{texts.close}</Button>
            <Button
              look="ink"
              busy={reveal.isPending && t.revealing}
              onClick={() => reveal.mutate()}
            >
              {t.reveal}
            </Button>
          </>
        }
      >
        <p>{t.question}</p>
        {reveal.error ? <Refusal>{describeError(reveal.error).message}</Refusal> : null}
      </Confirm>
    </div>
  );
}
