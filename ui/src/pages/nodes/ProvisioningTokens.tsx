import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { allPages } from "@/api/queries/common";
import { Button } from "@/components/Button";
import { formatExact } from "@/components/time";
import { ConfirmDelete } from "@/forms/ConfirmDelete";
import { useRefresh } from "@/forms/useSaved";
import { ReadFailed } from "../deployment/ReadFailed";
import { CreateToken } from "./CreateToken";
import { provisioningTexts as t } from "./provisioningTexts";

type Token = Schemas["ProvisioningToken"];

/** The tokens that enrol machines, and the way to another one. */
export function ProvisioningTokens() {
  const query = useQuery({
    queryKey: ["provisioning tokens"],
    queryFn: () =>
      allPages<Token>((cursor) =>
        ask(
          client.GET("/api/v1/provisioning-tokens", { params: { query: { limit: 500, cursor } } }),
        ),
      ),
  });
  const refresh = useRefresh(["provisioning tokens"]);
  const [adding, setAdding] = useState(false);
  const [ending, setEnding] = useState<Token>();
  return (
    <>
      <p className="t2 max-w-[72ch]">{t.what}</p>
      <ReadFailed what={t.unread} query={query} />
      {query.data?.length === 0 ? <p className="t3">{t.none}</p> : null}
      {query.data?.length ? <Table all={query.data} end={setEnding} /> : null}
      <div className="py-2">
        <Button onClick={() => setAdding(true)}>{t.add}</Button>
      </div>
      {adding ? <CreateToken close={() => setAdding(false)} made={refresh} /> : null}
      {ending ? (
        <ConfirmDelete
          name={ending.prefix}
          label={t.revoke}
          remove={() =>
            ask(
              client.DELETE("/api/v1/provisioning-tokens/{prefix}", {
                params: { path: { prefix: ending.prefix } },
              }),
            )
          }
          done={refresh}
          close={() => setEnding(undefined)}
        >
          <p>{t.revokeBody}</p>
        </ConfirmDelete>
      ) : null}
    </>
  );
}

function Table({ all, end }: { all: Token[]; end: (token: Token) => void }) {
  return (
    <table className="tbl">
      <thead>
        <tr>
          {Object.values(t.columns).map((column) => (
            <th key={column}>{column}</th>
          ))}
          <th>
            <span className="vh">{t.revoke}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {all.map((one) => (
          <tr key={one.prefix}>
            <td>
              <span className="mono">{one.prefix}</span>{" "}
              <span className="t2">{t.status[one.status] ?? one.status}</span>{" "}
              <span className="t2">{one.description}</span>
            </td>
            <td>{one.environment}</td>
            <td>{t.used(one.uses, one.max_uses)}</td>
            <td>{formatExact(one.expires_at)}</td>
            <td>{one.created_by}</td>
            <td>
              {one.status === "active" || one.status === "used_up" ? (
                <Button small onClick={() => end(one)}>
                  {t.revoke} <span className="vh">{one.prefix}</span>
                </Button>
              ) : null}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
