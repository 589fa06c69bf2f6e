import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { client, type Schemas } from "@/api/client";
import { teams } from "@/api/queries/people";
import { BidiSafe } from "@/components/BidiSafe";
import { LoadStored } from "@/forms/LoadStored";
import { Listing } from "@/lists/Listing";
import type { Column } from "@/lists/listProps";
import { OpenLink } from "@/lists/OpenLink";
import { useOpenSheet } from "@/lists/useOpenSheet";
import { peopleTexts } from "@/pages/people/peopleTexts";
import { useReasonNotAdmin } from "../shell/usePermissionReason";
import { TeamSheet } from "./TeamSheet";

const t = peopleTexts.teams;
type Team = Schemas["Team"];

export const grantText = (one: Schemas["Grant"]) =>
  `${t.levels[one.level]} ${one.project ?? one.environment}`;

const columns: Column<Team>[] = [
  {
    head: t.columns.name,
    cell: (one) => (
      <span className="row">
        <OpenLink name={one.name} />
        <span className="t2 s tr">
          <BidiSafe text={one.description ?? ""} />
        </span>
      </span>
    ),
  },
  { head: t.columns.members, cell: (one) => one.members.join(", ") || t.nobody },
  {
    head: t.columns.access,
    wide: true,
    cell: (one) => <span className="t2">{one.grants.map(grantText).join(", ") || t.nothing}</span>,
  },
];

const text = (one: Team) => `${one.name} ${one.members.join(" ")} ${one.description ?? ""}`;
const key = (one: Team) => one.name;

/** Who is together, and what they may. */
export function Teams() {
  const query = useQuery(teams);
  const reason = useReasonNotAdmin();
  const { opened, adding, add, close } = useOpenSheet();
  return (
    <Listing
      title={t.title}
      query={query}
      rowKey={key}
      columns={columns}
      text={text}
      unread={t.unread}
      emptyTitle={t.emptyTitle}
      empty={t.empty}
      add={{ label: t.add, run: add, reason }}
      bar={
        reason ? null : (
          <Link className="btn" to="/teams/access">
            {t.grid}
          </Link>
        )
      }
    >
      {adding && !reason ? <TeamSheet taken={query.data?.map(key) ?? []} close={close} /> : null}
      {opened ? (
        <LoadStored
          key={opened}
          kind="teams"
          name={opened}
          close={close}
          read={() => client.GET("/api/v1/teams/{name}", { params: { path: { name: opened } } })}
        >
          {(read) => <TeamSheet opened={read} taken={[]} close={close} />}
        </LoadStored>
      ) : null}
    </Listing>
  );
}
