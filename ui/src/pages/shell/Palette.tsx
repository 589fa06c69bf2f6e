import "./palette.css";
import { Dialog } from "@base-ui/react/dialog";
import { useNavigate } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";
import { StatusMark } from "@/components/Status";
import { useTheme } from "@/components/theme";
import { paletteTexts as t } from "@/pages/shell/paletteTexts";
import { type Command, searchCommands } from "./commands";
import { signOut } from "./leave";
import { recentCommands, rememberCommand } from "./recentCommands";
import { defaultCommands, useCommands, usePhrases } from "./useCommands";

const MOST = 60;

type Props = { close: () => void; shortcuts: () => void };

/** Every page and act, deployments by name, tag or URL, and what was defined. */
export default function Palette({ close, shortcuts }: Props) {
  const [theme, toggle] = useTheme();
  const [search, setSearch] = useState("");
  const all = useCommands(theme, search.trim() !== "");
  const phrases = usePhrases(search);
  const shown = useMemo(() => {
    const found = search.trim()
      ? searchCommands(all, search, recentCommands())
      : defaultCommands(all);
    return [...phrases, ...found].slice(0, MOST);
  }, [all, search, phrases]);
  const [at, setAt] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const choose = useChoose(close, { theme: toggle, shortcuts, leave: () => void signOut() });
  const keys = (event: KeyboardEvent) => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move) {
      event.preventDefault();
      setAt((before) => (before + move + shown.length) % Math.max(1, shown.length));
    }
    if (event.key === "Enter" && shown[at]) {
      event.preventDefault();
      choose(shown[at]);
    }
  };
  return (
    <Dialog.Root open onOpenChange={(open) => !open && close()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="scrim" />
        <Dialog.Popup className="palette" initialFocus={input}>
          <Dialog.Title className="vh">{t.title}</Dialog.Title>
          <div className="palfind">
            <Search className="i" aria-hidden="true" />
            <input
              ref={input}
              role="combobox"
              aria-expanded="true"
              aria-controls="palette-list"
              aria-activedescendant={shown[at] ? `cmd-${at}` : undefined}
              aria-label={t.title}
              placeholder={t.find}
              value={search}
              onChange={(event) => {
                setSearch(event.target.value);
                setAt(0);
              }}
              onKeyDown={keys}
            />
          </div>
          <span className="vh" role="status">
            {search ? t.count(shown.length) : ""}
          </span>
          <Results shown={shown} at={at} choose={choose} grouped={!search.trim()} />
          {shown.length === 0 ? <p className="palnone t2">{t.none(search)}</p> : null}
          <footer className="palfoot hide-m">
            <span>
              <kbd>↑</kbd> <kbd>↓</kbd> {t.foot.move}
            </span>
            <span>
              <kbd>Enter</kbd> {t.foot.go}
            </span>
            <span>
              <kbd>Esc</kbd> {t.foot.close}
            </span>
          </footer>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

type Acts = { theme: () => void; shortcuts: () => void; leave: () => void };

/** Does what a line says. One that can't be done only says why; choosing it changes nothing. */
function useChoose(close: () => void, run: Acts) {
  const navigate = useNavigate();
  return (command: Command) => {
    if (command.reason) return;
    const passes = command.group === "here" || command.id.startsWith("do ");
    if (!passes) rememberCommand(command.id.replace(/^recent /, ""));
    if (command.run !== "shortcuts") close();
    // The page's own act comes once the palette is gone: it may open something, and take the focus.
    if (typeof command.run === "function") setTimeout(command.run);
    else if (command.run) run[command.run]();
    else if (command.to) void navigate({ to: command.to, search: (command.search ?? {}) as never });
  };
}

type ResultsProps = {
  shown: Command[];
  at: number;
  choose: (command: Command) => void;
  grouped: boolean;
};

function Results({ shown, at, choose, grouped }: ResultsProps) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.querySelector(`#cmd-${at}`)?.scrollIntoView({ block: "nearest" });
  }, [at]);
  return (
    <div className="pallist" id="palette-list" role="listbox" aria-label={t.title} ref={list}>
      {shown.map((command, index) => {
        const first = grouped && shown[index - 1]?.group !== command.group;
        return (
          <div key={command.id} role="presentation">
            {first ? (
              <div className="navh" role="presentation">
                {t.groups[command.group]}
              </div>
            ) : null}
            {/* biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the focus and its keys. */}
            <div
              id={`cmd-${index}`}
              role="option"
              aria-selected={index === at}
              aria-disabled={command.reason ? true : undefined}
              className="cmd"
              onClick={() => choose(command)}
            >
              <Line command={command} />
            </div>
          </div>
        );
      })}
    </div>
  );
}

function Line({ command }: { command: Command }) {
  return (
    <>
      <span className="tr">{command.label}</span>
      {command.state ? <StatusMark state={command.state} small /> : null}
      {command.detail ? <span className="s t3 nw">{command.detail}</span> : null}
      <span className="end s t3 tr">
        {command.reason ?? (command.keys ? <kbd>{command.keys}</kbd> : null)}
      </span>
    </>
  );
}
