import { t } from '../i18n/text.ts';

/** A picture of the phone with an arrow on the key to press first. */
export function FirstCall() {
  return (
    <svg className="first-call" viewBox="0 0 240 132" role="img" aria-label={t('tour.picture')}>
      <rect className="picture-body" x="74" y="4" width="92" height="124" rx="14" />
      <rect className="picture-screen" x="84" y="16" width="72" height="44" rx="5" />
      <text className="picture-code" x="120" y="43">
        *1234#
      </text>
      <rect className="picture-call" x="84" y="68" width="34" height="16" rx="8" />
      <rect className="picture-key" x="122" y="68" width="34" height="16" rx="8" />
      {[92, 108].flatMap((y) =>
        [84, 109, 134].map((x) => (
          <rect key={`${x}-${y}`} className="picture-key" x={x} y={y} width="22" height="12" rx="4" />
        )),
      )}
      <path className="picture-arrow" d="M14 76H70m-10-9 11 9-11 9" />
    </svg>
  );
}
