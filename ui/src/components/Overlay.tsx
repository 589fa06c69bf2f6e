import { Dialog } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import type { ReactNode, RefObject } from "react";
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
  children: ReactNode;
};

/** A sheet from the right. The page behind it stays as it is. */
export function Sheet({ open, onClose, title, head, foot, narrow, focus, children }: SheetProps) {
  return (
    <Dialog.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="scrim" />
        <Dialog.Popup className={`sheet ${narrow ? "narrow" : ""}`} initialFocus={focus}>
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
