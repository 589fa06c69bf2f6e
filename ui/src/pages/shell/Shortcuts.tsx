import { useSuspenseQuery } from "@tanstack/react-query";
import { useState } from "react";
import { me } from "@/api/queries/common";
import { Sheet } from "@/components/Overlay";
import { areKeysOff, setKeysOff } from "@/components/Shell";
import { paletteTexts } from "@/pages/shell/paletteTexts";
import { placesFor } from "./navigation";

const t = paletteTexts.shortcuts;
type Keys = [string, string][];

/** Every key, and the switch that takes the single ones away. */
export default function Shortcuts({ close }: { close: () => void }) {
  const { data: person } = useSuspenseQuery(me);
  const go: Keys = placesFor(person.role === "admin")
    .filter((place) => place.key)
    .map((place) => [`G ${place.key?.toUpperCase()}`, place.label]);
  const k = t.keys;
  const groups: [string, Keys][] = [
    [
      t.groups.everywhere,
      [
        ["Ctrl K", k.palette],
        ["?", k.help],
        ["/", k.find],
        ["N", k.create],
        ["Esc", k.close],
      ],
    ],
    [t.groups.go, go],
    [
      t.groups.list,
      [
        ["J K", k.move],
        ["Enter", k.open],
        ["O", k.url],
        ["Y", k.copy],
        ["X", k.mark],
        ["S", k.star],
        ["C", k.clone],
        ["E", k.extend],
        ["R", k.retry],
        ["Del", k.erase],
      ],
    ],
    [
      t.groups.page,
      [
        ["1 … 9", k.tabs],
        ["J K ↓ ↑", k.step],
        ["L", k.toLog],
        ["/", k.log],
        ["F", k.follow],
        ["T", k.clock],
        ["W", k.wrap],
        ["P", k.error],
        ["V", k.raw],
        ["M", k.only],
        ["S", k.byStep],
        ["Z", k.foldSteps],
        ["R", k.retry],
        ["E", k.extend],
        ["C", k.clone],
        ["Shift B", k.capsule],
        ["Ctrl Shift X", k.terminal],
      ],
    ],
    [
      t.groups.editor,
      [
        ["A", k.add],
        ["Enter", k.fields],
        ["P", k.connect],
        ["Del", k.remove],
        ["F", k.fit],
        ["Shift F", k.tidy],
        ["J K", k.walk],
        ["Esc", k.back],
        ["F8", k.problem],
        ["Ctrl Z", k.undo],
        ["Ctrl Shift Z", k.redo],
        ["Ctrl A", k.all],
        ["Ctrl D", k.duplicate],
        ["Ctrl G", k.group],
        ["Ctrl F", k.search],
        ["Ctrl C", k.take],
        ["Ctrl X", k.cut],
        ["Ctrl V", k.paste],
        ["Ctrl S", k.draft],
        ["Ctrl Enter", k.publish],
      ],
    ],
    [
      t.groups.forms,
      [
        ["Ctrl Enter", k.save],
        ["[ ]", k.day],
      ],
    ],
  ];
  return (
    <Sheet open narrow onClose={close} title={t.title}>
      <div className="form grow">
        <Switch />
        {groups.map(([title, keys]) => (
          <section key={title}>
            <h2>{title}</h2>
            <dl className="kv">
              {keys.map(([key, does]) => (
                <Key key={key} keys={key} does={does} />
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Sheet>
  );
}

function Key({ keys, does }: { keys: string; does: string }) {
  return (
    <>
      <dt className="row gap-1">
        {keys.split(" ").map((key) => (
          <kbd key={key}>{key}</kbd>
        ))}
      </dt>
      <dd>{does}</dd>
    </>
  );
}

function Switch() {
  const [off, setOff] = useState(areKeysOff);
  return (
    <div className="field">
      <label className="ck">
        <input
          type="checkbox"
          checked={off}
          onChange={(event) => {
            setKeysOff(event.target.checked);
            setOff(event.target.checked);
          }}
        />
        {t.off}
      </label>
      <span className="hint pl-6">{t.offHint}</span>
    </div>
  );
}
