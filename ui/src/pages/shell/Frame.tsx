import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { Flag, LogOut, Moon, Search, Sun } from "lucide-react";
import { lazy, type ReactNode, Suspense, useEffect, useState } from "react";
import { activeAlerts } from "@/api/queries/alerts";
import { nodes } from "@/api/queries/catalog";
import { me } from "@/api/queries/common";
import { anyReady, deployments } from "@/api/queries/deployments";
import { inbox } from "@/api/queries/inbox";
import { Glyph, Mark } from "@/components/Glyph";
import { AskSlot } from "@/components/lack";
import { loadChunk } from "@/components/loadChunk";
import { OpenMenu, useKeys } from "@/components/Shell";
import { useSolved } from "@/components/Toast";
import { useTheme } from "@/components/theme";
import { shellTexts } from "@/pages/shell/shellTexts";
import { texts } from "@/texts";
import { countUnread } from "../notices/groupNotices";
import { startDismissed } from "../start/dismissed";
import { DocsLink } from "./DocsLink";
import { signOut } from "./leave";
import { alsoHolds, type Place, placesFor } from "./navigation";
import { StepUpQuestion } from "./StepUpQuestion";
import { useGoKeys } from "./useGoKeys";
import { ViewAsBanner } from "./ViewAsBanner";

const Palette = lazy(() => loadChunk(() => import("./Palette")));
const AskAdmin = lazy(() => loadChunk(() => import("./AskAdmin")));
const Shortcuts = lazy(() => loadChunk(() => import("./Shortcuts")));

/** A failure that was in sight for so long was read; on another page it would only be in the way. */
const READ = 10_000;

/** Sidebar and content of every page behind sign-in. */
export function Frame() {
  const [open, setOpen] = useState(false);
  const [over, setOver] = useState<"palette" | "shortcuts">();
  const path = useRouterState({ select: (state) => state.location.pathname });
  const solved = useSolved();
  useEffect(() => {
    setOpen(false);
    setOver(undefined);
    solved(READ);
  }, [path, solved]);
  // Closed, it leaves Escape to the page.
  const keys = { "?": () => setOver("shortcuts") };
  useKeys(open ? { ...keys, Escape: () => setOpen(false) } : keys);
  useGoKeys(() => setOver("palette"));
  const close = () => setOver(undefined);
  return (
    <OpenMenu value={() => setOpen(true)}>
      <AskSlot value={offerToAsk}>
        <div className="app">
          <a className="btn skip" href="#main">
            {texts.skip}
          </a>
          <Sidebar open={open} jump={() => setOver("palette")} />
          <button
            type="button"
            className="sideveil"
            data-open={open || undefined}
            aria-label={texts.close}
            onClick={() => setOpen(false)}
          />
          <main className="main" id="main" tabIndex={-1}>
            <ViewAsBanner />
            <Outlet />
          </main>
        </div>
        <Suspense fallback={over ? <Opening close={close} /> : null}>
          {over === "palette" ? (
            <Palette close={close} shortcuts={() => setOver("shortcuts")} />
          ) : null}
          {over === "shortcuts" ? <Shortcuts close={close} /> : null}
        </Suspense>
        <StepUpQuestion />
      </AskSlot>
    </OpenMenu>
  );
}

/** While what lies over the page is loaded, what is typed is not for the page: `ignoresKey` sees a dialog. Escape ends the wait. */
function Opening({ close }: { close: () => void }) {
  useEffect(() => {
    const leave = ({ key }: KeyboardEvent) => key === "Escape" && close();
    document.addEventListener("keydown", leave);
    return () => document.removeEventListener("keydown", leave);
  });
  return <div role="dialog" aria-busy="true" aria-label={texts.product} className="vh" />;
}

/** Loaded by who lacks something only. */
function offerToAsk(reason: string): ReactNode {
  return (
    <Suspense fallback={null}>
      <AskAdmin reason={reason} />
    </Suspense>
  );
}

const GROUPS = ["", "machines", "parts", "people", "installation"] as const;

function Sidebar({ open, jump }: { open: boolean; jump: () => void }) {
  const { data: person } = useSuspenseQuery(me);
  const places = placesFor(person.role === "admin");
  return (
    <nav className="side" aria-label={texts.mainNav} data-open={open || undefined}>
      <Link className="brand" to="/deployments" aria-label={texts.product}>
        <Mark />
        <span>{texts.product}</span>
      </Link>
      <button type="button" className="jump" onClick={jump}>
        <Search className="i sm" aria-hidden="true" />
        <span className="l">{shellTexts.jump}</span>
        <kbd>Ctrl K</kbd>
      </button>
      {GROUPS.map((group) => (
        <Group key={group} group={group} places={places.filter((one) => one.group === group)} />
      ))}
      {person.role === "admin" && !startDismissed() ? <StartItem /> : null}
      <Person />
    </nav>
  );
}

function Group({ group, places }: { group: Place["group"]; places: Place[] }) {
  if (places.length === 0) return null;
  return (
    <>
      {group ? <div className="navh">{shellTexts.groups[group]}</div> : null}
      {places.map((place) => (
        <Item key={place.to} place={place}>
          {place.to === "/deployments" ? <Count /> : null}
          {place.to === "/nodes" ? <Waiting /> : null}
          {place.to === "/notices" ? <Unread /> : null}
          {place.to === "/alerts" ? <Active /> : null}
        </Item>
      ))}
    </>
  );
}

function Count() {
  const count = useQuery({ ...deployments, enabled: false }).data?.length;
  return count === undefined ? null : <span className="n">{count}</span>;
}

/** Notices that were not read, equal ones counted once, as the page shows them. */
function Unread() {
  const unread = countUnread(useQuery(inbox).data?.items ?? []);
  return unread ? <span className="n warn">{unread}</span> : null;
}

/** Alerts that nobody looks after yet. */
function Active() {
  const count = useQuery(activeAlerts).data?.filter((one) => !one.acknowledged_by).length;
  if (!count) return null;
  return (
    <span className="n warn">
      <Glyph state="stuck" size="sm" />
      {count}
      <span className="vh">{shellTexts.activeAlerts}</span>
    </span>
  );
}

/** Machines that a person has to look at. */
function Waiting() {
  const waiting = useQuery({ ...nodes, staleTime: 20_000 }).data?.filter(
    (node) => node.status === "untrusted",
  ).length;
  if (!waiting) return null;
  return (
    <span className="n warn">
      <Glyph state="stuck" size="sm" />
      {waiting}
      <span className="vh">{texts.states.untrusted}</span>
    </span>
  );
}

/** Offered until something runs, or until it was dismissed. */
function StartItem() {
  const list = useQuery({ ...deployments, enabled: false }).data;
  const any = useQuery({ ...anyReady, enabled: !list }).data;
  const path = useRouterState({ select: (state) => state.location.pathname });
  // The list is only there where its page was; not known is no reason to offer it.
  const started = list ? list.some((one) => one.status === "ready") : any !== false;
  if (started && path !== "/start") return null;
  const place: Place = {
    to: "/start",
    label: shellTexts.nav.start,
    group: "",
    icon: Flag,
    who: "admin",
  };
  return (
    <>
      <div className="navh">{shellTexts.groups.start}</div>
      <Item place={place} />
    </>
  );
}

function Item({ place, children }: { place: Place; children?: ReactNode }) {
  const Icon = place.icon;
  const within = useRouterState({ select: ({ location }) => alsoHolds(place, location.pathname) });
  return (
    <Link
      className="nav"
      to={place.to}
      title={place.label}
      aria-current={within ? "page" : undefined}
      activeProps={{ "aria-current": "page" }}
      activeOptions={{ includeSearch: false }}
    >
      {Icon ? <Icon className="i" aria-hidden="true" /> : null}
      <span className="l">{place.label}</span>
      {children}
    </Link>
  );
}

function Person() {
  const { data: person } = useSuspenseQuery(me);
  const [theme, toggle] = useTheme();
  const name = person.display_name || person.name;
  return (
    <div className="me">
      <span className="av" aria-hidden="true">
        {initials(name)}
      </span>
      <Link to="/account" className="grow hover:underline" title={shellTexts.nav.account}>
        <b className="s tr block">{name}</b>
        <span className="xs t3">{texts.roles[person.role]}</span>
      </Link>
      <DocsLink />
      <button
        type="button"
        className="btn ghost sm ic"
        aria-label={texts.theme[theme === "dark" ? "light" : "dark"]}
        title={texts.theme[theme === "dark" ? "light" : "dark"]}
        onClick={toggle}
      >
        {theme === "dark" ? (
          <Sun className="i sm" aria-hidden="true" />
        ) : (
          <Moon className="i sm" aria-hidden="true" />
        )}
      </button>
      <button
        type="button"
        className="btn ghost sm ic"
        aria-label={texts.signOut}
        title={texts.signOut}
        onClick={signOut}
      >
        <LogOut className="i sm" aria-hidden="true" />
      </button>
    </div>
  );
}

function initials(name: string): string {
  const words = name.split(/[\s._-]+/).filter(Boolean);
  return words
    .slice(0, 2)
    .map((word) => word[0]?.toUpperCase())
    .join("");
}
