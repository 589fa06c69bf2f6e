import { Dialog } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import { type KeyboardEvent, type ReactNode, type RefObject, useRef } from "react";
import { texts } from "@/texts";

type SheetProps = {
  open: boolean;
  onClose: () => void;
  title: string;
  head?: ReactNode;
  foot?: ReactNode;
  narrow?: boolean;
  /** What has the focus first; the first control otherwise. */
  focus?: RefObject<HTMLElement | null>;
  /** Something is read, and another sheet then takes this one's place, and the focus. */
  waits?: boolean;
  /** Keys pressed in the sheet itself, not in what lies over it. */
  onKey?: (event: KeyboardEvent) => void;
  children: ReactNode;
};

/** A sheet from the right. The page behind it stays as it is. */
export function Sheet(props: SheetProps) {
  const { open, onClose, title, head, foot, narrow, focus, waits, onKey, children } = props;
  const closed = useRef(false);
  const close = () => {
    closed.current = true;
    onClose();
  };
  // What is drawn over it, such as a question, is inside of it for React only.
  const keys = (event: KeyboardEvent) =>
    event.currentTarget.contains(event.target as Node) && onKey?.(event);
  return (
    <Dialog.Root open={open} onOpenChange={(next) => !next && close()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="scrim" />
        <Dialog.Popup
          className={`sheet ${narrow ? "narrow" : ""}`}
          initialFocus={focus}
          finalFocus={() => !waits || closed.current}
          onKeyDown={keys}
        >
          <header className="sh">
            <Dialog.Title render={<h1 />}>{title}</Dialog.Title>
            {head}
            <Dialog.Close className="btn ghost sm ic end" aria-label={texts.close}>
              <X className="i" aria-hidden="true" />
            </Dialog.Close>
          </header>
          {children}
          {foot ? <footer className="sf">{foot}</footer> : null}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

type ConfirmProps = {
  open: boolean;
  onClose: () => void;
  title: string;
  children: ReactNode;
  acts: ReactNode;
};

/** A question before something that cannot be taken back. It says what exactly will happen. */
export function Confirm({ open, onClose, title, children, acts }: ConfirmProps) {
  return (
    <Dialog.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="scrim" />
        <Dialog.Popup className="dialog">
          <Dialog.Title render={<h1 />}>{title}</Dialog.Title>
          <Dialog.Description render={<div />} className="t2 flex flex-col gap-2">
            {children}
          </Dialog.Description>
          <div className="row mt-2 justify-end">{acts}</div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
