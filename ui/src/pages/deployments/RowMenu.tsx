import { Menu } from "@base-ui/react/menu";
import type { Deployment } from "@/api/client";
import { isLack } from "@/components/lack";
import { deployTexts } from "@/pages/deployTexts";
import { texts } from "@/texts";
import { type Filters, mainUrl } from "./filters";
import { RemoveQuestion } from "./RemoveQuestion";
import { useRowActs } from "./useRowActs";

const t = deployTexts.rows;

type Props = {
  on: Deployment;
  /** The button that opened it. */
  anchor: HTMLElement;
  close: () => void;
  filters: Filters;
  marked: boolean;
  mark: (id: string) => void;
  starred: boolean;
  star: (id: string) => void;
  open: (deployment: Deployment) => void;
  copy: (deployment: Deployment) => void;
};

/** What can be done with one row. What its state does not allow says why; what is not theirs is left out. */
export default function RowMenu(props: Props) {
  const { on, anchor, close, filters, marked, mark, starred, star, open, copy } = props;
  const acts = useRowActs([on], { filters, done: close });
  const url = mainUrl(on);
  const choose = (run: () => void) => () => {
    run();
    close();
  };
  const theirs = acts.all.filter(({ reason }) => !isLack(reason));
  if (acts.removing) return <RemoveQuestion {...acts.question} keep={close} />;
  return (
    <Menu.Root open onOpenChange={(next) => !next && close()}>
      <Menu.Portal>
        <Menu.Positioner className="over" anchor={anchor} sideOffset={4} align="end">
          <Menu.Popup
            className="menu"
            aria-label={texts.list.menu(on.name)}
            finalFocus={() => anchor}
          >
            <Item
              label={t.openUrl}
              keys="O"
              reason={url ? undefined : texts.list.noUrl(on.name)}
              run={choose(() => open(on))}
            />
            <Item
              label={t.copyUrl}
              keys="Y"
              reason={url ? undefined : texts.list.noUrl(on.name)}
              run={choose(() => copy(on))}
            />
            <Item label={starred ? t.unstar : t.star} keys="S" run={choose(() => star(on.id))} />
            <Item label={marked ? t.unselect : t.select} keys="X" run={choose(() => mark(on.id))} />
            {theirs.length > 0 || !isLack(acts.clone.reason) ? (
              <Menu.Separator className="ms" />
            ) : null}
            <Item
              label={t.short.clone}
              keys="C"
              reason={acts.clone.reason}
              run={choose(acts.clone.run)}
            />
            {theirs.map(({ kind, reason, run }) => (
              <Item
                key={kind}
                label={t.short[kind]}
                keys={t.keys[kind]}
                danger={kind === "remove"}
                reason={reason}
                // To delete asks first, here.
                run={kind === "remove" ? run : choose(run)}
              />
            ))}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}

type ItemProps = {
  label: string;
  keys: string;
  reason?: string;
  danger?: boolean;
  run: () => void;
};

function Item({ label, keys, reason, danger, run }: ItemProps) {
  if (isLack(reason)) return null;
  return (
    <Menu.Item
      className={`mi ${danger && !reason ? "danger" : ""}`}
      aria-disabled={reason ? true : undefined}
      title={reason}
      closeOnClick={false}
      onClick={() => !reason && run()}
    >
      <span className="grow">
        {label}
        {reason ? <span className="why">{reason}</span> : null}
      </span>
      <kbd>{keys}</kbd>
    </Menu.Item>
  );
}
