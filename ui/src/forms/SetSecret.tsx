import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { ask, client } from "@/api/client";
import { Button } from "@/components/Button";
import { Confirm } from "@/components/Overlay";
import { useToast } from "@/components/Toast";
import { secretTexts as t } from "@/forms/secretTexts";

/** How long a value is that the server makes. */
const LENGTH = 32;

type Props = { project: string; name: string; onClose: () => void; onSet?: () => void };

/** Gives the project a secret that a step refers to: a value, or one that nobody has to know. */
export default function SetSecret({ project, name, onClose, onSet }: Props) {
  const [value, setValue] = useState("");
  const id = useId();
  const say = useToast();
  const cache = useQueryClient();
  const save = useMutation({
    mutationFn: (body: { value: string } | { generate: { length: number } }) =>
      ask(
        client.PUT("/api/v1/projects/{name}/secrets/{secret}", {
          params: { path: { name: project, secret: name } },
          body,
        }),
      ),
    onSuccess: async () => {
      say("done", t.done(name));
      onClose();
      onSet?.();
      await cache.invalidateQueries({ queryKey: ["project", project] });
    },
  });
  return (
    <Confirm
      open
      onClose={onClose}
      title={t.title(name)}
      acts={
        <>
          <Button onClick={onClose}>{t.cancel}</Button>
          <Button onClick={() => save.mutate({ generate: { length: LENGTH } })}>
            {t.generate}
          </Button>
          <Button
            look="ink"
            reason={value ? undefined : t.empty}
            busy={save.isPending && t.busy}
            onClick={() => save.mutate({ value })}
          >
            {t.save}
          </Button>
        </>
      }
    >
      <p>{t.hint(project)}</p>
      <div className="f">
        <label className="lbl" htmlFor={id}>
          {t.value}
        </label>
        <span className="in">
          <input
            id={id}
            type="password"
            autoComplete="off"
            value={value}
            aria-invalid={save.error ? true : undefined}
            onChange={(event) => setValue(event.target.value)}
          />
        </span>
        {save.error ? (
          <div className="er" data-st="failed" role="alert">
            {save.error.message}
          </div>
        ) : null}
      </div>
    </Confirm>
  );
}
