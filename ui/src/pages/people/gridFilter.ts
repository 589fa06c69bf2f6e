import type { Schemas } from "@/api/client";
import { levelOf, nameOf, type Target } from "./grants";

type Team = Schemas["Team"];

/** What of the grid is looked for: a team, a project or environment, and which of them. */
export type GridFilter = { team?: string; object?: string; show?: string };

const has = (name: string, wanted = "") => name.toLowerCase().includes(wanted.trim().toLowerCase());

/** The rows and columns that match. */
export function filterGrid<C extends Target>(teams: Team[], columns: C[], filter: GridFilter) {
  const rows = teams.filter(
    ({ name, members }) => has(name, filter.team) || members.some((one) => has(one, filter.team)),
  );
  const shown = columns.filter((column) => {
    if (!has(nameOf(column), filter.object)) return false;
    switch (filter.show) {
      case "projects":
        return column.project !== undefined;
      case "environments":
        return column.environment !== undefined;
      case "granted":
        return rows.some((team) => levelOf(team.grants, column) !== "none");
      default:
        return true;
    }
  });
  return { teams: rows, columns: shown };
}
