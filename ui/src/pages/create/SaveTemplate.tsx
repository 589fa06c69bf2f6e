import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError, ask, client, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { Field } from "@/components/Field";
import { isName } from "@/components/names";
import { Confirm } from "@/components/Overlay";
import { describeError } from "@/components/States";
import { useToast } from "@/components/Toast";
import { ifMatch } from "@/forms/etag";
import { deployTexts } from "@/pages/deployTexts";
import { texts } from "@/texts";
import { templates } from "./queries";

const t = deployTexts.template;

type Props = { project: string; environment: string; body: Schemas["DeploymentCreate"] };

/** A template that is there already is changed on the templates' page, where it can be seen. */
const refusal = (error: unknown, name: string) =>
  error instanceof ApiError && error.status === 412 ? t.taken(name) : describeError(error).message;

/** Saves the form as a template. */
export function SaveTemplate({ project, environment, body }: Props) {
  const [open, setOpen] = useState(false);
  const [name, setName] = useState("");
  const cache = useQueryClient();
  const say = useToast();
  const save = useMutation({
    mutationFn: () =>
      ask(
        client.PUT("/api/v1/projects/{name}/templates/{template}", {
          params: { path: { name: project, template: name } },
          headers: ifMatch(undefined),
          body: {
            environment,
            versions: body.versions,
            input: body.input,
            wait: body.wait,
            priority: body.priority,
          },
        }),
      ),
    onSuccess: () => {
      setOpen(false);
      say("done", t.saved(name));
      void cache.invalidateQueries({ queryKey: templates(project).queryKey });
    },
  });
  const wrong = name !== "" && !isName(name);
  return (
    <>
      <Button act={t.save} look="ghost" onClick={() => setOpen(true)}>
        {t.save}
      </Button>
      <Confirm
        open={open}
        onClose={() => setOpen(false)}
        title={t.saveTitle}
        acts={
          <>
            <Button onClick={() => setOpen(false)}>{texts.close}</Button>
            <Button
              look="ink"
              reason={isName(name) ? undefined : t.nameWrong}
              busy={save.isPending && t.saving}
              onClick={() => save.mutate()}
            >
              {t.save}
            </Button>
          </>
        }
      >
        <p>{t.saveHint}</p>
        <Field
          label={t.name}
          mono
          value={name}
          maxLength={40}
          error={save.isError ? refusal(save.error, name) : wrong ? t.nameWrong : undefined}
          onChange={(event) => {
            setName(event.target.value);
            save.reset();
          }}
        />
      </Confirm>
    </>
  );
}
