import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { Button, buttonClass } from "@/components/Button";
import { texts } from "@/texts";
import { fromList } from "../create/search";
import { useReasonNotToCreate } from "../shell/usePermissionReason";
import type { Filters } from "./filters";

/** To the sheet; for who may create nowhere, a line of the page says who can change that. */
export function CreateLink({ filters }: { filters: Filters }) {
  const inside = (
    <>
      <Plus className="i sm" aria-hidden="true" />
      {texts.list.create} <kbd>N</kbd>
    </>
  );
  const reason = useReasonNotToCreate();
  if (reason) return <Button reason={reason}>{inside}</Button>;
  return (
    <Link className={buttonClass("ink")} to="/deployments/new" search={fromList(filters)}>
      {inside}
    </Link>
  );
}
