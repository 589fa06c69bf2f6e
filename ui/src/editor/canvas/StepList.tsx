import { Box, Braces, Hand, ListChecks, MessageSquare, Puzzle, Search } from "lucide-react";
import { type KeyboardEvent, type ReactNode, type RefObject, useRef, useState } from "react";
import { editorTexts } from "@/editor/editorTexts";
import type { Catalogue } from "../model/catalogue";

const t = editorTexts;

type Item = { id: string; name: string; more?: string; icon: ReactNode };

type Props = {
  catalogue: Catalogue;
  field: RefObject<HTMLInputElement | null>;
  onAdd: (what: string) => void;
  /** Whether a step only: where a line is to end, a comment is no use. */
  stepsOnly?: boolean;
  autoFocus?: boolean;
};

/**
 * What can be added: `service:NAME`, `plugin:NAME`, `job`, `script`, `approval` or `comment`. Arrow
 * keys lead from the search to the items and along them.
 */
export function StepList({ catalogue, field, onAdd, stepsOnly, autoFocus }: Props) {
  const [search, setSearch] = useState("");
  const list = useRef<HTMLDivElement>(null);
  const groups = searchItems(groupsOf(catalogue, stepsOnly), search.trim().toLowerCase());
  const first = groups[0]?.items[0];
  const add = (id: string) => {
    setSearch("");
    onAdd(id);
  };
  const inField = (event: KeyboardEvent<HTMLInputElement>) => {
    // A key that is held down would add one after the other.
    if (event.key === "Enter" && first && !event.repeat) add(first.id);
    if (event.key === "Escape" && search) {
      setSearch("");
      event.stopPropagation();
    } else if (event.key === "Escape") event.currentTarget.blur();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: its field and buttons have the focus
    <div className="steplist" ref={list} onKeyDown={(event) => moveFocus(event, list.current)}>
      <div className="in sm">
        <Search className="i sm t3" aria-hidden="true" />
        <input
          ref={field}
          // biome-ignore lint/a11y/noAutofocus: the picker was opened to choose a step
          autoFocus={autoFocus}
          placeholder={t.find}
          aria-label={t.find}
          value={search}
          onChange={(event) => setSearch(event.target.value)}
          onKeyDown={inField}
        />
        {autoFocus ? null : <kbd>A</kbd>}
      </div>
      {groups.map((group) => (
        // In the picker, its groups are no landmarks: the list beside the canvas has the same ones.
        <section key={group.title} aria-label={autoFocus ? undefined : group.title}>
          <h2 className="ph3">{group.title}</h2>
          {group.items.map((item) => (
            <button
              key={item.id}
              type="button"
              className="pi"
              data-first={(search && item === first) || undefined}
              draggable
              title={t.add(item.name)}
              onClick={() => add(item.id)}
              onDragStart={(event) => {
                event.dataTransfer.setData("application/x-nullops-step", item.id);
                event.dataTransfer.effectAllowed = "copy";
              }}
            >
              {item.icon}
              <span className="tr">{item.name}</span>
              {item.more ? <span className="s end t3 nw">{item.more}</span> : null}
            </button>
          ))}
        </section>
      ))}
      {groups.length === 0 ? <p className="t3 s p-2">{t.noFound(search)}</p> : null}
    </div>
  );
}

/** Arrow keys lead from the field to the items and along them, and back. */
function moveFocus(event: KeyboardEvent, list: HTMLElement | null) {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!by || !list) return;
  const stops = [...list.querySelectorAll<HTMLElement>("input, button.pi")];
  const at = stops.indexOf(document.activeElement as HTMLElement);
  event.preventDefault();
  stops[Math.max(0, Math.min(stops.length - 1, at + by))]?.focus();
}

function groupsOf(catalogue: Catalogue, stepsOnly = false): { title: string; items: Item[] }[] {
  const services = [...catalogue.services.values()].map<Item>((service) => ({
    id: `service:${service.name}`,
    name: service.name,
    more: service.tag_mode === "pinned" ? t.pinned : undefined,
    icon: <Box className="i sm" aria-hidden="true" />,
  }));
  const plugins = [...catalogue.plugins.values()].map<Item>((plugin) => ({
    id: `plugin:${plugin.name}`,
    name: plugin.name,
    more: plugin.tag.length <= 8 ? plugin.tag : undefined,
    icon: <Puzzle className="i sm" aria-hidden="true" />,
  }));
  const comment: Item = {
    id: "comment",
    name: t.comment,
    icon: <MessageSquare className="i sm" aria-hidden="true" />,
  };
  const other: Item[] = [
    { id: "job", name: t.job, icon: <ListChecks className="i sm" aria-hidden="true" /> },
    { id: "script", name: t.script, icon: <Braces className="i sm" aria-hidden="true" /> },
    { id: "approval", name: t.approval, icon: <Hand className="i sm" aria-hidden="true" /> },
    ...(stepsOnly ? [] : [comment]),
  ];
  return [
    { title: t.groups.services, items: services },
    { title: t.groups.plugins, items: plugins },
    { title: t.groups.other, items: other },
  ];
}

function searchItems(groups: { title: string; items: Item[] }[], search: string) {
  return groups
    .map((group) => ({
      ...group,
      items: group.items.filter((item) => item.name.toLowerCase().includes(search)),
    }))
    .filter((group) => group.items.length > 0);
}
