import { Popover } from "@base-ui/react/popover";
import { useQuery } from "@tanstack/react-query";
import { ChevronDown } from "lucide-react";
import { useState } from "react";
import { deployment } from "@/api/queries/deployments";
import { diffTexts } from "@/pages/diff/diffTexts";
import { DeploymentChoices } from "./DeploymentChoices";
import { nameOf } from "./findDeployments";

const t = diffTexts;

type Props = { label: string; id?: string; onPick: (id: string) => void };

/** One of those that are there, or a record; which one it is by name and environment. */
export function DeploymentPicker({ label, id, onPick }: Props) {
  const [open, setOpen] = useState(false);
  const chosen = useQuery({ ...deployment(id ?? ""), enabled: Boolean(id) }).data;
  const said = chosen && id ? nameOf(chosen) : t.choose;
  const pick = (next: string) => {
    setOpen(false);
    onPick(next);
  };
  return (
    <div className="col gap-1">
      <span className="lbl" aria-hidden="true">
        {label}
      </span>
      <Popover.Root open={open} onOpenChange={setOpen}>
        <Popover.Trigger className="in" aria-label={`${label}: ${said}`}>
          <span className="grow tr text-left">{said}</span>
          <ChevronDown className="i sm t3" aria-hidden="true" />
        </Popover.Trigger>
        <Popover.Portal>
          <Popover.Positioner className="over" sideOffset={6} align="start">
            <Popover.Popup className="picker" aria-label={label}>
              <DeploymentChoices chosen={id} pick={pick} />
            </Popover.Popup>
          </Popover.Positioner>
        </Popover.Portal>
      </Popover.Root>
    </div>
  );
}
