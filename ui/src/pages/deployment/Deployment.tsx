import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { deploymentByName } from "@/api/queries/deployments";
import { Page } from "./Page";
import { Loading, Unreadable } from "./PageStates";

const named = getRouteApi("/app/deployments/$environment/$name/{-$tab}");
const permalink = getRouteApi("/app/d/$id/{-$tab}");

/** By its place: the deployment of that name that is there, or the record of the newest one. */
export function ByName() {
  const { environment, name, tab } = named.useParams();
  const search = named.useSearch();
  const found = useQuery(deploymentByName(environment, name));
  if (found.isPending) return <Loading name={name} />;
  // Which one it is was known before: what could not be read anew, its own page says.
  if (!found.data)
    return <Unreadable name={name} error={found.error} retry={() => void found.refetch()} />;
  return <Page key={found.data.id} id={found.data.id} tab={tab} search={search} />;
}

/** By its id: for ever, also after removal. */
export function ById() {
  const { id, tab } = permalink.useParams();
  return <Page key={id} id={id} tab={tab} search={permalink.useSearch()} />;
}
