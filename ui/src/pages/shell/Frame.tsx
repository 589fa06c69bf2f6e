import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { Layers, LogOut, Moon, Server, Sun, Workflow } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { client } from "@/api/client";
import { nodes } from "@/api/queries/catalog";
import { me } from "@/api/queries/common";
import { deployments } from "@/api/queries/deployments";
import { Glyph, Mark } from "@/components/Glyph";
import { OpenMenu, useKeys } from "@/components/Shell";
import { useTheme } from "@/components/theme";
import { texts } from "@/texts";

/** Sidebar and content of every page behind sign-in. */
export function Frame() {
  const [open, setOpen] = useState(false);
  const path = useRouterState({ select: (state) => state.location.pathname });
  useEffect(() => setOpen(false), [path]);
  useKeys({ Escape: () => setOpen(false) });
  return (
    <OpenMenu value={() => setOpen(true)}>
      <div className="app">
        <a className="btn skip" href="#main">
          {texts.skip}
        </a>
        <Sidebar open={open} />
        <button
          type="button"
          className="sideveil"
          data-open={open || undefined}
          aria-label={texts.close}
          onClick={() => setOpen(false)}
        />
        <main className="main" id="main" tabIndex={-1}>
          <Outlet />
        </main>
      </div>
    </OpenMenu>
  );
}

function Sidebar({ open }: { open: boolean }) {
  const { data: person } = useSuspenseQuery(me);
  const admin = person.role === "admin";
  const count = useQuery({ ...deployments, enabled: false }).data?.length;
  return (
    <nav className="side" aria-label={texts.mainNav} data-open={open || undefined}>
      <Link className="brand" to="/deployments" aria-label={texts.product}>
        <Mark />
        <span>{texts.product}</span>
      </Link>
      <Item
        to="/deployments"
        label={texts.nav.deployments}
        icon={<Layers className="i" aria-hidden="true" />}
      >
        {count === undefined ? null : <span className="n">{count}</span>}
      </Item>
      <Item
        to="/projects"
        label={texts.nav.projects}
        icon={<Workflow className="i" aria-hidden="true" />}
      />
      {admin ? <Machines /> : null}
      <Person />
    </nav>
  );
}

function Machines() {
  const waiting = useQuery({ ...nodes, staleTime: 20_000 }).data?.filter(
    (node) => node.status === "untrusted",
  ).length;
  return (
    <>
      <div className="navh">{texts.nav.machines}</div>
      <Item to="/nodes" label={texts.nav.nodes} icon={<Server className="i" aria-hidden="true" />}>
        {waiting ? (
          <span className="n warn">
            <Glyph state="stuck" size="sm" />
            {waiting}
            <span className="vh">{texts.states.untrusted}</span>
          </span>
        ) : null}
      </Item>
    </>
  );
}

type ItemProps = { to: string; label: string; icon: ReactNode; children?: ReactNode };

function Item({ to, label, icon, children }: ItemProps) {
  return (
    <Link className="nav" to={to} title={label} activeProps={{ "aria-current": "page" }}>
      {icon}
      <span className="l">{label}</span>
      {children}
    </Link>
  );
}

function Person() {
  const { data: person } = useSuspenseQuery(me);
  const [theme, toggle] = useTheme();
  const leave = async () => {
    await client.DELETE("/api/v1/sessions/current").catch(() => undefined);
    // A fresh page: nothing that was read stays in memory.
    window.location.assign("/sign-in");
  };
  const name = person.display_name || person.name;
  return (
    <div className="me">
      <span className="av" aria-hidden="true">
        {initials(name)}
      </span>
      <div className="grow">
        <div className="s tr" title={name}>
          <b>{name}</b>
        </div>
        <div className="xs t3">{texts.roles[person.role]}</div>
      </div>
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
        onClick={leave}
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
