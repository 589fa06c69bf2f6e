import { Menu } from "@base-ui/react/menu";
import { Check } from "lucide-react";
import { texts } from "@/texts";
import { columns, type useColumns } from "./columns";

type Props = {
  /** The button that opened it. */
  anchor: HTMLElement;
  close: () => void;
  shown: ReturnType<typeof useColumns>;
};

/** Which columns the list has. */
export default function ColumnMenu({ anchor, close, shown }: Props) {
  return (
    <Menu.Root open onOpenChange={(open) => !open && close()}>
      <Menu.Portal>
        <Menu.Positioner className="over" anchor={anchor} sideOffset={4} align="end">
          <Menu.Popup className="menu" finalFocus={() => anchor}>
            {columns.map(({ key }) => (
              <Menu.CheckboxItem
                key={key}
                className="mi"
                checked={!shown.hidden.includes(key)}
                onCheckedChange={() => shown.toggle(key)}
              >
                <span className="w-3.5">
                  <Menu.CheckboxItemIndicator>
                    <Check className="i sm" aria-hidden="true" />
                  </Menu.CheckboxItemIndicator>
                </span>
                {texts.list.columns[key]}
              </Menu.CheckboxItem>
            ))}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
