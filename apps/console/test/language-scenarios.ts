import { expect, test } from 'vitest';
import { findBarriers, keepPicture, openPage, overflow, sizes, type TestConsole } from './start-console.ts';

const views = [
  { path: '/phone', fr: 'Téléphone', sw: 'Simu', ar: 'الهاتف' },
  { path: '/programs', fr: 'Programmes', sw: 'Programu', ar: 'البرامج' },
  { path: '/chat', fr: 'Discussion', sw: 'Mazungumzo', ar: 'المحادثة' },
  { path: '/explorer', fr: 'Explorateur', sw: 'Kichunguzi', ar: 'المستكشف' },
  { path: '/operations', fr: 'Exploitation', sw: 'Uendeshaji', ar: 'التشغيل' },
];

export function languageScenarios(palaver: () => TestConsole): void {
  test('a language is chosen, shown at once without losing what was typed, and kept', async () => {
    await using opened = await openPage(palaver(), '/phone');
    const { page, complaints } = opened;
    await page.getByLabel('Number to dial').fill('*777#');
    await page.getByLabel('Language').selectOption('sw');
    await page.getByRole('heading', { name: 'Simu', exact: true, level: 1 }).waitFor();
    expect(await page.getByLabel('Namba ya kupiga').inputValue()).toBe('*777#');
    await page.getByLabel('Lugha').selectOption('ar');
    await page.getByRole('button', { name: 'اتصال' }).waitFor();
    expect(await page.locator('html').getAttribute('dir')).toBe('rtl');
    await page.reload();
    await page.getByRole('heading', { name: 'الهاتف', exact: true, level: 1 }).waitFor();
    expect(await page.locator('html').getAttribute('lang')).toBe('ar');
    expect(complaints).toEqual([]);
  });

  test('the language of the browser comes first', async () => {
    await using opened = await openPage(palaver(), '/operations', { locale: 'fr-CM' });
    await opened.page.getByRole('heading', { name: 'Exploitation' }).waitFor();
    expect(await opened.page.title()).toBe('Exploitation · Palaver');
  });

  test('a screen in another language than the page says so', async () => {
    await using opened = await openPage(palaver(), '/phone', { locale: 'sw-KE' });
    const { page } = opened;
    await page.getByRole('button', { name: 'Piga' }).click();
    const screen = page.locator('.screen-text');
    await screen.getByText('Welcome to Palaver').waitFor();
    await expect.poll(() => screen.getAttribute('lang')).toBe('en');
  });

  test.each(['fr', 'sw', 'ar'] as const)(
    'every view in %s is free of barriers and of English headings',
    async (locale) => {
      for (const { path, ...titles } of views) {
        await using opened = await openPage(palaver(), path, { locale });
        const { page } = opened;
        await page.getByRole('heading', { name: titles[locale], level: 1 }).waitFor();
        for (const size of ['desktop', 'phone'] as const) {
          await page.setViewportSize(sizes[size]);
          expect([path, size, await findBarriers(page)]).toEqual([path, size, []]);
          expect([path, size, await overflow(page)]).toEqual([path, size, 0]);
          await keepPicture(page, `${path.slice(1)}-${locale}-${size}`);
        }
      }
    },
  );
}
