import type { Attachment } from '@palaver/oracles-client-sdk';
import { type FormEvent, useState } from 'react';
import { t } from '../i18n/text.ts';
import { Button } from '../ui/button.tsx';
import { InputField } from '../ui/fields.tsx';

/** Attachments are on the user's Matrix homeserver; the agent fetches them from there with the session set under About you. */
export function AttachmentForm({ onAdd }: { onAdd(attachment: Attachment): void }) {
  const [mxcUri, setMxcUri] = useState('');
  const [filename, setFilename] = useState('');
  const [mimetype, setMimetype] = useState('text/plain');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onAdd({ mxcUri: mxcUri.trim(), filename: filename.trim(), mimetype: mimetype.trim() });
    setMxcUri('');
    setFilename('');
  };
  return (
    <form className="field-row" aria-label={t('chat.attachment')} onSubmit={submit}>
      <InputField
        label={t('chat.contentAddress')}
        required
        pattern="mxc:\/\/[^\/\s]+\/[^\/\s]+"
        placeholder="mxc://server/id"
        value={mxcUri}
        onChange={(event) => setMxcUri(event.target.value)}
      />
      <InputField
        label={t('chat.fileName')}
        required
        value={filename}
        onChange={(event) => setFilename(event.target.value)}
      />
      <InputField
        label={t('chat.fileType')}
        required
        value={mimetype}
        onChange={(event) => setMimetype(event.target.value)}
      />
      <Button type="submit">{t('chat.add')}</Button>
    </form>
  );
}
