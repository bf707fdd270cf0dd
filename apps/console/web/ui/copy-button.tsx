import { useState } from 'react';
import { t } from '../i18n/text.ts';
import { Icon } from './icon.tsx';

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <button type="button" className="button button-small" onClick={() => void copy()} aria-live="polite">
      <Icon name="copy" size={16} />
      {isCopied ? t('app.copied') : label}
    </button>
  );
}
