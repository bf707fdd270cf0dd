import { useState } from 'react';
import { t } from '../i18n/text.ts';
import { Button } from './button.tsx';

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <Button small icon="copy" onClick={() => void copy()} aria-live="polite">
      {isCopied ? t('app.copied') : label}
    </Button>
  );
}
