import type { FormEvent } from "react";
import { Button } from "@/components/Button";
import { texts } from "@/texts";

const t = texts.list;

type Props = { save: (name: string) => void; close: () => void; back: () => void };

/** Asks for the name of the view that is shown. */
export function ViewNaming({ save, close, back }: Props) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget).get("name") ?? "").trim();
    if (name) save(name);
  };
  return (
    <form
      className="in sm slim shrink-0"
      onSubmit={submit}
      onBlur={({ currentTarget, relatedTarget }) =>
        !currentTarget.contains(relatedTarget) && close()
      }
    >
      <input
        name="name"
        ref={(input) => input?.focus()}
        aria-label={t.viewName}
        placeholder={t.viewName}
        maxLength={40}
        onKeyDown={(event) => event.key === "Escape" && back()}
      />
      {/* A press leaves the focus in the field: some browsers give it to no button. */}
      <Button small type="submit" onPointerDown={(event) => event.preventDefault()}>
        {t.keepView}
      </Button>
    </form>
  );
}
