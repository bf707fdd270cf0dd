import { useState } from 'react';
import { t } from '../i18n/text.ts';
import { Button } from '../ui/button.tsx';
import { download } from '../ui/download.ts';
import { Modal } from '../ui/modal.tsx';
import type { Identity } from './identity.ts';

/** Forgets the credential. A key made here exists nowhere else, so that is asked first; a delegation can be signed again. */
export function SignOut({ identity, onSignOut }: { identity: Identity; onSignOut(): void }) {
  const [isAsking, setAsking] = useState(false);
  const isKey = identity.kind === 'key';
  const exportKey = () => download('palaver-key.txt', `${identity.credential}\n`, 'text/plain');
  return (
    <>
      {isKey && (
        <Button small onClick={exportKey}>
          {t('chat.exportKey')}
        </Button>
      )}
      <Button small danger onClick={() => (isKey ? setAsking(true) : onSignOut())}>
        {t('chat.signOut')}
      </Button>
      {isAsking && (
        <Modal title={t('chat.leaveTitle')} onClose={() => setAsking(false)}>
          <p>{t('chat.leaveText')}</p>
          <div className="actions">
            <Button onClick={() => setAsking(false)}>{t('app.cancel')}</Button>
            <Button main onClick={exportKey}>
              {t('chat.exportKey')}
            </Button>
            <Button danger onClick={onSignOut}>
              {t('chat.leave')}
            </Button>
          </div>
        </Modal>
      )}
    </>
  );
}
