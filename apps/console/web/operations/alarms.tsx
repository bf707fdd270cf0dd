import { useMutation } from '@tanstack/react-query';
import type { KeptAlarm } from '../../src/history/history-store.ts';
import { sendAsOperator } from '../api/call-service.ts';
import { formatMoment } from '../i18n/format.ts';
import { t } from '../i18n/text.ts';
import { Button } from '../ui/button.tsx';
import { Fault } from '../ui/fault.tsx';
import { Panel } from '../ui/panel.tsx';
import { titleOf } from './figures.ts';

const tones = { down: 'badge badge-danger', faults: 'badge badge-danger', slow: 'badge badge-warn' };

/** The alarms of the last day, the raised ones first. An operator who looks after one says so, by name. */
export function Alarms({ alarms }: { alarms: readonly KeptAlarm[] }) {
  const acknowledge = useMutation({
    mutationFn: ({ service, kind }: KeptAlarm) => sendAsOperator('console', '/alarms/acknowledge', { service, kind }),
  });
  const isRaised = alarms.some(({ clearedAt }) => clearedAt === null);
  return (
    <Panel title={t('history.alarms')} className={isRaised ? 'panel-danger' : ''}>
      {alarms.length === 0 && <p className="empty">{t('history.noAlarms')}</p>}
      {acknowledge.error && <Fault error={acknowledge.error} />}
      <ul className="link-list">
        {alarms.map((alarm) => {
          const { service, kind, value, threshold, raisedAt, clearedAt, acknowledgedBy } = alarm;
          return (
            <li key={`${service}${kind}${raisedAt}`}>
              <span className={clearedAt === null ? tones[kind] : 'badge'}>{t(`history.${kind}`)}</span>{' '}
              {t(titleOf(service))}{' '}
              <span className="numbers">{t('history.beyond', { value: Math.round(value), threshold })}</span>{' '}
              <span className="quiet">
                {clearedAt === null
                  ? t('history.since', { time: formatMoment(raisedAt) })
                  : t('history.until', { start: formatMoment(raisedAt), end: formatMoment(clearedAt) })}
              </span>{' '}
              {acknowledgedBy !== null ? (
                <span className="badge">{t('history.acknowledgedBy', { name: acknowledgedBy })}</span>
              ) : (
                clearedAt === null && (
                  <Button small disabled={acknowledge.isPending} onClick={() => acknowledge.mutate(alarm)}>
                    {t('history.acknowledge')}
                  </Button>
                )
              )}
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}
