import { Link } from "@tanstack/react-router";
import { Plus, X } from "lucide-react";
import { type FormEvent, useState } from "react";
import type { Deployment } from "@/api/client";
import { texts } from "@/texts";
import { Count } from "./Count";
import type { Filters } from "./filters";
import { sameFilters, useViews } from "./views";

const t = texts.list;

type Props = { read?: Deployment[]; filters: Filters; user: string };

/** A person's own tabs behind the given ones, and the way to make one of what is shown now. */
export function SavedViews({ read, filters, user }: Props) {
  const { views, full, save, drop } = useViews();
  const [naming, setNaming] = useState(false);
  const here = views.find((one) => sameFilters(one.filters, filters));
  const { view: _view, ...chosen } = filters;
  const filtered = Object.values(chosen).some(Boolean);
  return (
    <>
      {views.map((one) => (
        <span key={one.name} className="row gap-0">
          <Link
            className="tab"
            to="/deployments"
            search={one.filters}
            activeProps={{ "aria-current": one === here ? "page" : undefined }}
          >
            {one.name} <Count read={read} filters={one.filters} user={user} />
          </Link>
          {one === here ? (
            <button
              type="button"
              className="btn ghost sm ic"
              aria-label={t.dropView(one.name)}
              title={t.dropView(one.name)}
              onClick={() => drop(one.name)}
            >
              <X className="i sm" aria-hidden="true" />
            </button>
          ) : null}
        </span>
      ))}
      {filtered && !here && !full && !naming ? (
        <button
          type="button"
          className="btn ghost sm ic"
          aria-label={t.saveView}
          title={t.saveView}
          onClick={() => setNaming(true)}
        >
          <Plus className="i sm" aria-hidden="true" />
        </button>
      ) : null}
      {naming ? (
        <Naming
          close={() => setNaming(false)}
          save={(name) => {
            save(name, filters);
            setNaming(false);
          }}
        />
      ) : null}
    </>
  );
}

function Naming({ save, close }: { save: (name: string) => void; close: () => void }) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget).get("name") ?? "").trim();
    if (name) save(name);
  };
  return (
    <form className="in sm slim" onSubmit={submit}>
      <input
        name="name"
        ref={(input) => input?.focus()}
        aria-label={t.viewName}
        placeholder={t.viewName}
        maxLength={40}
        onBlur={close}
        onKeyDown={(event) => event.key === "Escape" && close()}
      />
    </form>
  );
}
