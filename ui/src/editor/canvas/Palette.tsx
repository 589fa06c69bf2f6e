import { Box, Braces, Hand, ListChecks, MessageSquare, Puzzle, Search } from "lucide-react";
import { type KeyboardEvent, type ReactNode, type RefObject, useState } from "react";
import { editorTexts } from "@/editor/editorTexts";
import type { Catalogue } from "../model/catalogue";

const t = editorTexts;

type Item = { id: string; name: string; more?: string; icon: ReactNode };

/** What can be added: `service:NAME`, `plugin:NAME`, `job`, `script`, `approval` or `comment`. */
export function Palette({
  catalogue,
  field,
  onAdd,
}: {
  catalogue: Catalogue;
  field: RefObject<HTMLInputElement | null>;
  onAdd: (what: string) => void;
}) {
  const [search, setSearch] = useState("");
  const groups = searchItems(groupsOf(catalogue), search.trim().toLowerCase());
  const first = groups[0]?.items[0];
  const keys = (event: KeyboardEvent<HTMLInputElement>) => {
    if (event.key === "Enter" && first) {
      onAdd(first.id);
      setSearch("");
    }
    if (event.key === "Escape") {
      setSearch("");
      event.currentTarget.blur();
    }
  };
  return (
    <aside className="pal" aria-label={t.steps}>
      <div className="in sm">
        <Search className="i sm t3" aria-hidden="true" />
        <input
          ref={field}
          placeholder={t.find}
          aria-label={t.find}
          value={search}
          onChange={(event) => setSearch(event.target.value)}
          onKeyDown={keys}
        />
        <kbd>A</kbd>
      </div>
      {groups.map((group) => (
        <section key={group.title} aria-label={group.title}>
          <h2 className="ph3">{group.title}</h2>
          {group.items.map((item) => (
            <button
              key={item.id}
              type="button"
              className="pi"
              draggable
              title={t.add(item.name)}
              onClick={() => onAdd(item.id)}
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
    </aside>
  );
}

function groupsOf(catalogue: Catalogue): { title: string; items: Item[] }[] {
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
  const other: Item[] = [
    { id: "job", name: t.job, icon: <ListChecks className="i sm" aria-hidden="true" /> },
    { id: "script", name: t.script, icon: <Braces className="i sm" aria-hidden="true" /> },
    { id: "approval", name: t.approval, icon: <Hand className="i sm" aria-hidden="true" /> },
    { id: "comment", name: t.comment, icon: <MessageSquare className="i sm" aria-hidden="true" /> },
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
