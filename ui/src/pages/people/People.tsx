import { useQuery } from "@tanstack/react-query";
import { client, type Schemas } from "@/api/client";
import { users } from "@/api/queries/people";
import { BidiSafe } from "@/components/BidiSafe";
import { Button } from "@/components/Button";
import { Time } from "@/components/Time";
import { LoadStored } from "@/forms/LoadStored";
import { Listing } from "@/lists/Listing";
import type { Column, ListFilter } from "@/lists/listProps";
import { OpenLink } from "@/lists/OpenLink";
import { useOpenSheet, useSheet } from "@/lists/useOpenSheet";
import { peopleTexts } from "@/pages/people/peopleTexts";
import { NotFound } from "../shell/ErrorPages";
import { useReasonNotAdmin } from "../shell/usePermissionReason";
import { Invitations } from "./Invitations";
import { InviteSheet } from "./InviteSheet";
import { ServiceSheet, UserSheet } from "./UserSheet";

const t = peopleTexts.users;
type User = Schemas["User"];

const columns: Column<User>[] = [
  {
    head: t.columns.name,
    cell: (one) => (
      <span className="row">
        <OpenLink name={one.name} />
        {one.kind === "service" ? <span className="chip">{t.kinds.service}</span> : null}
        <span className="t2 s tr">
          <BidiSafe text={one.display_name} />
        </span>
      </span>
    ),
  },
  { head: t.columns.role, cell: (one) => t.roles[one.role] },
  {
    head: t.columns.state,
    cell: (one) => <span className={one.active ? "" : "t2"}>{say(one)}</span>,
  },
  { head: t.columns.teams, cell: (one) => one.teams.join(", ") || t.noTeams },
  { head: t.columns.address, wide: true, cell: (one) => <span className="t2">{one.address}</span> },
  {
    head: t.columns.last,
    wide: true,
    cell: (one) => (one.last_sign_in_at ? <Time at={one.last_sign_in_at} /> : t.never),
  },
];

const state = (one: User) => (one.active ? "active" : "off");
const say = (one: User) => t.states[state(one)];

const filters: ListFilter<User>[] = [
  {
    key: "kind",
    label: t.kind,
    any: t.anyKind,
    of: (one) => one.kind,
    say: (value) => t.kinds[value as keyof typeof t.kinds] ?? value,
  },
  {
    key: "state",
    label: t.state,
    any: t.anyState,
    of: state,
    say: (value) => t.states[value as keyof typeof t.states] ?? value,
  },
  {
    key: "role",
    label: t.role,
    any: t.anyRole,
    of: (one) => one.role,
    say: (value) => t.roles[value as User["role"]] ?? value,
  },
];

const text = (one: User) => `${one.name} ${one.display_name} ${one.address ?? ""}`;
const key = (one: User) => one.name;

/** Everybody with an account, and who is invited. */
export function People() {
  const reason = useReasonNotAdmin();
  return reason ? <NotFound /> : <Users />;
}

function Users() {
  const query = useQuery(users);
  const { opened, adding, add, close } = useOpenSheet();
  const service = useSheet("service");
  return (
    <Listing
      title={t.title}
      query={query}
      rowKey={key}
      columns={columns}
      text={text}
      filters={filters}
      unread={t.unread}
      emptyTitle={t.emptyTitle}
      empty={t.empty}
      add={{ label: t.invite, run: add }}
      bar={
        <Button act={t.service} onClick={service.show}>
          {t.service}
        </Button>
      }
      above={<Invitations />}
    >
      {adding ? <InviteSheet close={close} /> : null}
      {service.shown ? (
        <ServiceSheet taken={query.data?.map(key) ?? []} close={service.hide} />
      ) : null}
      {opened ? (
        <LoadStored
          key={opened}
          kind="users"
          name={opened}
          close={close}
          read={() => client.GET("/api/v1/users/{name}", { params: { path: { name: opened } } })}
        >
          {(read) => <UserSheet opened={read} close={close} />}
        </LoadStored>
      ) : null}
    </Listing>
  );
}
