import type { Attachment } from '@palaver/oracles-client-sdk';
import { type FormEvent, useState } from 'react';
import { t } from '../i18n/text.ts';

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
      <label className="field">
        <span>{t('chat.contentAddress')}</span>
        <input
          required
          pattern="mxc:\/\/[^\/\s]+\/[^\/\s]+"
          placeholder="mxc://server/id"
          value={mxcUri}
          onChange={(event) => setMxcUri(event.target.value)}
        />
      </label>
      <label className="field">
        <span>{t('chat.fileName')}</span>
        <input required value={filename} onChange={(event) => setFilename(event.target.value)} />
      </label>
      <label className="field">
        <span>{t('chat.fileType')}</span>
        <input required value={mimetype} onChange={(event) => setMimetype(event.target.value)} />
      </label>
      <button type="submit" className="button">
        {t('chat.add')}
      </button>
    </form>
  );
}
