import { expect, test } from 'vitest';
import { findBarriers, keepPicture, looks, openPage, overflow, type TestConsole } from './start-console.ts';

export function explorerScenarios(palaver: () => TestConsole): void {
  test('an entity reads like a page, and its links lead on', async () => {
    await using opened = await openPage(palaver(), '/explorer');
    const { page, complaints } = opened;
    const list = page.getByRole('region', { name: 'Entities' });
    await list.getByRole('link').first().waitFor();
    await page.getByLabel('Find anything').fill('did:ixo:entity:48f0c7df9986c3e0b2bdc7c37dd40276');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Lakeshore Water Committee' }).waitFor();
    await page.getByText('ixo1gwwczvdkj2d72zz5mp3spptsc0q8zfzaq0z35j', { exact: true }).waitFor();
    await keepPicture(page, 'explorer');
    await page.getByRole('article').getByRole('link', { name: 'did:ixo:entity:5e73b4…64b8' }).click();
    await page.getByRole('article').getByText('did:ixo:entity:5e73b420ff007ca7fdb00a98583564b8').first().waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Lakeshore Water Committee' }).waitFor();
    expect(complaints).toEqual([]);
  });

  test('one field finds a name, an address, a claim, a height and says what it does not find; all is linked', async () => {
    await using opened = await openPage(palaver(), '/explorer?page=claims');
    const { page, complaints } = opened;
    const field = page.getByLabel('Find anything');
    await field.fill('lakeshore');
    await page.getByRole('search').getByRole('link', { name: 'Lakeshore Water Committee' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Lakeshore Water Committee' }).waitFor();
    await page.getByRole('region', { name: 'Entities' }).getByText('Lakeshore Water Committee').waitFor();
    await page.getByRole('article').getByRole('link', { name: /^ixo1/ }).first().click();
    await page.getByRole('heading', { name: 'Balances' }).waitFor();
    await page.getByText('balances.0.amount').or(page.getByText('pagination.total')).first().waitFor();

    await page.getByRole('link', { name: /^height [\d,]+$/ }).click();
    await page.getByRole('article').getByText('block.header.chain_id').first().waitFor();
    await field.fill('no such thing');
    await page.getByText('Nothing was found.').waitFor();

    await page.goto(`${palaver().url}/explorer?page=claims`);
    await page.getByRole('table').getByRole('link', { name: /^bafk/ }).first().click();
    await page.getByRole('article').getByText('claim_id').first().waitFor();
    await page.getByRole('heading', { name: 'Disputes' }).waitFor();
    await page.getByLabel('Language of the snippet').first().selectOption('python');
    await page.getByText('from urllib.request import Request, urlopen').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await keepPicture(page, 'explorer-claim');
    expect(complaints).toEqual([]);
  });

  test('transactions and blocks are lists with previous and next, and accounts have theirs', async () => {
    await using opened = await openPage(palaver(), '/explorer?page=transactions');
    const { page, complaints } = opened;
    const list = page.getByRole('region', { name: 'Transactions' });
    await expect.poll(() => list.getByRole('row').count()).toBe(11);
    await list.getByText('MsgSend').first().waitFor();
    await list.getByRole('button', { name: 'Next' }).click();
    await list.getByText('Maize, two bags').waitFor();
    await keepPicture(page, 'explorer-transactions');
    await list
      .getByRole('row', { name: /Maize, two bags/ })
      .getByRole('link')
      .first()
      .click();
    await page.getByRole('article').getByText('MsgSend').first().waitFor();
    await page.getByRole('article').getByRole('link', { name: /^ixo1/ }).first().click();
    await page.getByRole('region', { name: 'Transactions of this account' }).getByText('MsgSend').first().waitFor();
    await page.goto(`${palaver().url}/explorer?page=blocks`);
    const blocks = page.getByRole('region', { name: 'Blocks' });
    const heights = () => blocks.getByRole('link').allTextContents();
    await expect.poll(async () => (await heights()).length).toBe(10);
    const [first] = await heights();
    await blocks.getByRole('button', { name: 'Next' }).click();
    await expect.poll(async () => Number((await heights())[0])).toBe(Number(first) - 10);
    await blocks.getByRole('link').first().click();
    await page.getByRole('heading', { name: `${Number(first) - 10}` }).waitFor();
    await page.getByRole('navigation', { name: 'Block' }).getByRole('button', { name: 'Previous' }).click();
    await page.getByRole('heading', { name: `${Number(first) - 11}` }).waitFor();
    expect(complaints).toEqual([]);
  });

  test('claims can be filtered by outcome, and the bar of a collection is as long as its numbers say', async () => {
    await using opened = await openPage(palaver(), '/explorer?page=claims');
    const { page } = opened;
    await page.getByText('18 of 1,000 claims').waitFor();
    const card = page.getByRole('listitem').filter({ hasText: '18 of 1,000 claims' });
    expect(Number(await card.locator('.share-submitted').getAttribute('width'))).toBeCloseTo(1.8);
    await page.getByLabel('Outcome').selectOption('REJECTED');
    await expect.poll(() => page.getByRole('table').getByText('approved', { exact: true }).count()).toBe(0);
    expect(await page.getByRole('table').getByText('rejected', { exact: true }).count()).toBeGreaterThan(0);
  });

  test('claims are counted by collection and listed with their outcomes', async () => {
    await using opened = await openPage(palaver(), '/explorer?page=claims');
    const { page, complaints } = opened;
    await page.getByText('18 of 1,000 claims').waitFor();
    await page.getByRole('link', { name: 'Collection 1', exact: true }).click();
    await page.getByRole('heading', { name: 'Claims of collection 1' }).waitFor();
    expect(await page.getByText('approved', { exact: true }).count()).toBeGreaterThan(5);
    await keepPicture(page, 'explorer-claims');
    expect(complaints).toEqual([]);
  });

  test('tokens of a minter are shown with their amounts', async () => {
    await using opened = await openPage(palaver(), '/explorer?page=tokens');
    const { page, complaints } = opened;
    await page.getByLabel('Minter’s address').fill('ixo14zz3zfksjhldlwd65k9d447fazwzg237x2lzca');
    await page.getByRole('button', { name: 'Show its tokens' }).click();
    await page.getByRole('heading', { name: 'UMOJA-COOK' }).waitFor();
    await page.getByText('1,840').waitFor();
    await page.getByText('120 retired: Flights of 2024').waitFor();
    await keepPicture(page, 'explorer-tokens');
    expect(complaints).toEqual([]);
  });

  test('every route has a form; the answer comes with timing, cache state and a curl line', async () => {
    await using opened = await openPage(palaver(), '/explorer?page=routes');
    const { page } = opened;
    await page.getByText(/^3\d routes$/).waitFor();
    await page.getByLabel(/routes$/).fill('collections');
    await page.getByRole('link', { name: '/ixo/claims/collections' }).click();
    await page.getByLabel('pagination.limit').fill('1');
    await page.getByRole('button', { name: 'Send the request' }).click();
    await page.getByText('cache miss').waitFor();
    await page.getByRole('button', { name: 'Send the request' }).click();
    await page.getByText(/cache (hit|miss)/).waitFor();
    expect(await page.getByText(/^\d+(\.\d)? ms$/).count()).toBe(1);
    const curl = await page.locator('code.snippet').textContent();
    expect(curl).toMatch(
      /^curl 'http:\/\/127\.0\.0\.1:\d+\/api\/gateway\/ixo\/claims\/collections\?pagination\.limit=1'$/,
    );
    const [, address = ''] = /'(.*)'/.exec(curl ?? '') ?? [];
    const asked = (await (await fetch(address)).json()) as { collections: unknown[] };
    expect(asked.collections).toHaveLength(1);
    expect(await page.getByRole('group', { name: 'Answer' }).textContent()).toContain('"quota": "1000"');
    await keepPicture(page, 'explorer-routes');

    await page.getByLabel('pagination.limit').fill('many');
    await page.getByRole('button', { name: 'Send the request' }).click();
    await page.getByText('400', { exact: true }).first().waitFor();
  });

  test.each(looks)('no barrier in the $theme theme at the width of a $size', async (look) => {
    await using opened = await openPage(palaver(), '/explorer?page=claims', look);
    const { page } = opened;
    await page.getByText('18 of 1,000 claims').waitFor();
    await page.locator('td').getByText('approved', { exact: true }).first().waitFor();
    expect(await findBarriers(page)).toEqual([]);
    expect(await overflow(page)).toBe(0);
    for (const [tab, settled] of [
      ['Entities', 'verified'],
      ['Tokens', 'Contract'],
      ['All routes', 'Send the request'],
    ] as const) {
      await page.getByRole('link', { name: tab, exact: true }).click();
      await page.getByText(settled, { exact: true }).first().waitFor();
      expect(await findBarriers(page)).toEqual([]);
      expect(await overflow(page)).toBe(0);
      await keepPicture(page, `explorer-${tab.toLowerCase().replace(' ', '-')}-${look.theme}-${look.size}`);
    }
  });
}
