import type { Column, ListProps } from "./listProps";

type Props<T> = { rows: T[] } & Pick<ListProps<T>, "columns" | "rowKey">;

export function Rows<T>({ rows, columns, rowKey }: Props<T>) {
  const look = (column: Column<T>) =>
    [column.wide && "wide", column.right && "num"].filter(Boolean).join(" ") || undefined;
  return (
    <table className="tbl">
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column.head} className={look(column)}>
              {column.head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={rowKey(row)}>
            {columns.map((column) => (
              <td key={column.head} className={look(column)}>
                {column.cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
