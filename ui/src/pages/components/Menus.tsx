import { Check } from "lucide-react";
import { Button } from "@/components/Button";
import { galleryTexts as t } from "@/pages/components/galleryTexts";
import { Part, Shown } from "./Part";

/** A menu and a tooltip as they lie over a page, here in their place. */
export function Menus() {
  return (
    <Part title={t.sections.menus}>
      <div className="row items-start gap-7">
        <Shown name={t.looks.open}>
          <div className="menu" role="menu" aria-label={t.sections.menus}>
            <Item text={t.menu.chosen} chosen />
            <Item text={t.menu.other} over />
            <Item text={t.menu.last} />
          </div>
        </Shown>
        <Shown name={t.looks.reason}>
          <span>
            <Button reason={t.reason}>{t.label}</Button>
          </span>
          <div className="tip static mt-1">{t.reason}</div>
        </Shown>
      </div>
    </Part>
  );
}

function Item({ text, chosen, over }: { text: string; chosen?: boolean; over?: boolean }) {
  return (
    <div
      className="mi"
      role="menuitemradio"
      aria-checked={chosen ?? false}
      tabIndex={-1}
      data-highlighted={over ? "" : undefined}
    >
      <span className="w-3.5">{chosen ? <Check className="i sm" aria-hidden="true" /> : null}</span>
      {text}
    </div>
  );
}
