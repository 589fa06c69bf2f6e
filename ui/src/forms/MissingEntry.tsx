import { Sheet } from "@/components/Overlay";
import { EmptyState } from "@/components/States";
import { formTexts as t } from "@/forms/formTexts";
import { texts } from "@/texts";

/** Shown when a link leads to an entry that is not in the list. */
export function MissingEntry({ name, close }: { name: string; close: () => void }) {
  return (
    <Sheet open narrow onClose={close} title={name}>
      <div className="grow">
        <EmptyState title={t.goneTitle(name)}>{texts.notFound}</EmptyState>
      </div>
    </Sheet>
  );
}
