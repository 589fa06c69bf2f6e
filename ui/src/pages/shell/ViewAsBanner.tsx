import { useSuspenseQuery } from "@tanstack/react-query";
import { me } from "@/api/queries/common";
import { viewAs } from "@/api/viewAs";
import { Button } from "@/components/Button";
import { shellTexts } from "@/pages/shell/shellTexts";

/** The banner on every page while an admin views as another user. */
export function ViewAsBanner() {
  const { data: person } = useSuspenseQuery(me);
  if (!person.viewed_by) return null;
  return (
    <div className="row viewing" role="status">
      <span className="grow">{shellTexts.viewing(person.name)}</span>
      <Button act={shellTexts.stopViewing} small onClick={() => viewAs(undefined)}>
        {shellTexts.stopViewing}
      </Button>
    </div>
  );
}
