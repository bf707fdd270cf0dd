// The example of docs/ussd-menus.md: taken out of the guide, checked, and dialled.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createTempDir } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { checkMenuFiles } from '../src/commands/check-menu-files.ts';
import { createPhone } from '../src/commands/phone.ts';
import { startUssd } from '../src/main.ts';

test('the example of the guide passes its own check and can be dialled', async () => {
  await using dir = await createTempDir();
  const guide = readFileSync(new URL('../../../docs/ussd-menus.md', import.meta.url), 'utf8');
  const files = [...guide.matchAll(/```\w+ (\S+)\n(.*?)```/gs)];
  expect(files.map(([, name]) => name)).toEqual(['menus/weather.yaml', 'locales/en.yaml', 'my-actions.ts']);
  for (const [, name = '', text = ''] of files) {
    mkdirSync(dirname(join(dir.path, name)), { recursive: true });
    writeFileSync(join(dir.path, name), text);
  }
  const [menus, locales, actions] = ['menus', 'locales', 'my-actions.ts'].map((name) => join(dir.path, name));
  expect(await checkMenuFiles({ menus, locales, actions })).toEqual({
    ok: true,
    lines: ['6 states, 1 languages (en): no faults'],
  });

  const service = await startUssd({
    PORT: '0',
    DATA_DIR: join(dir.path, 'data'),
    LOG_LEVEL: 'silent',
    USSD_MENUS: menus,
    USSD_LOCALES: locales,
    USSD_ACTIONS: actions,
  });
  try {
    const phone = createPhone({ url: service.url, phoneNumber: '+254700000001', serviceCode: '*384#' });
    await phone.dial('*384#');
    await phone.send('1');
    expect((await phone.send('Kisumu')).text).toContain('In Kisumu: rain in the afternoon');
  } finally {
    await service.close();
  }
});
