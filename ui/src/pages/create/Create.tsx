import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useContext } from "react";
import {
  environments as environmentsQuery,
  projects as projectsQuery,
} from "@/api/queries/catalog";
import { AskSlot } from "@/components/lack";
import { Sheet } from "@/components/Overlay";
import { useTitle } from "@/components/Shell";
import { EmptyState, ErrorState, Skeletons } from "@/components/States";
import { createTexts } from "@/pages/create/createTexts";
import { useReasonNotToCreate } from "../shell/usePermissionReason";
import { Form } from "./Form";
import { cloneSheet } from "./queries";

const t = createTexts;
const route = getRouteApi("/app/deployments/new");

/** The right versions in under 20 seconds. */
export function Create() {
  useTitle(t.title);
  const navigate = route.useNavigate();
  const { from, list } = route.useSearch();
  const projects = useQuery(projectsQuery);
  const environments = useQuery(environmentsQuery);
  const leave = () => void navigate({ to: "/deployments", search: list ?? {} });
  const clone = useQuery({ ...cloneSheet(from ?? ""), enabled: Boolean(from) });
  const lack = useReasonNotToCreate();
  const offer = useContext(AskSlot);
  if (lack)
    return (
      <Sheet open narrow onClose={leave} title={t.title}>
        <EmptyState title={t.notYours} act={offer(lack)}>
          {lack}
        </EmptyState>
      </Sheet>
    );
  const error = projects.error ?? environments.error ?? clone.error;
  if (projects.data && environments.data && (!from || clone.data)) {
    const read = { projects: projects.data, environments: environments.data, clone: clone.data };
    return <Form key={from} read={read} leave={leave} />;
  }
  const retry = () => {
    void projects.refetch();
    void environments.refetch();
    if (from) void clone.refetch();
  };
  return (
    <Sheet open waits onClose={leave} title={t.title}>
      {error ? (
        <ErrorState what={t.unread} error={error} retry={retry} />
      ) : (
        <Skeletons count={6} height={52} />
      )}
    </Sheet>
  );
}
