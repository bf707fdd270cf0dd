import { type ReactNode, useEffect, useId, useRef } from 'react';
import { t } from '../i18n/text.ts';
import { Button } from './button.tsx';

/** The browser's own dialog keeps the focus, and Escape closes it. */
export function Modal({ title, onClose, children }: { title: string; onClose(): void; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} className="modal panel" aria-labelledby={heading} onClose={onClose}>
      <h2 id={heading}>{title}</h2>
      {children}
    </dialog>
  );
}

interface AskProps {
  title: string;
  text: string;
  disabled?: boolean;
  onConfirm(): void;
  onClose(): void;
}

export function Ask({ title, text, disabled, onConfirm, onClose }: AskProps) {
  return (
    <Modal title={title} onClose={onClose}>
      <p>{text}</p>
      <div className="actions">
        <Button main disabled={disabled} onClick={onConfirm}>
          {title}
        </Button>
        <Button onClick={onClose}>{t('app.cancel')}</Button>
      </div>
    </Modal>
  );
}
