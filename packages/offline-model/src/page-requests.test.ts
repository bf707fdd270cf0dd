import { expect, test } from 'vitest';
import { readPageRequest } from './page-requests.ts';
import { readRequest } from './requests.ts';

test.each([
  ['Draw a chart of the trees planted: June 120, July 310.5', 'June', 'July'],
  ['Dessine un graphique des arbres plantés : juin 120, juillet 310.5', 'juin', 'juillet'],
  ['Chora chati ya miti iliyopandwa: Juni 120, Julai 310.5', 'Juni', 'Julai'],
  ['ارسم مخططًا للأشجار المزروعة: يونيو 120، يوليو 310.5', 'يونيو', 'يوليو'],
])('%s', (text, first, second) => {
  expect(readRequest(text)).toMatchObject({
    tool: 'show_bars',
    args: {
      bars: [
        { label: first, value: 120 },
        { label: second, value: 310.5 },
      ],
    },
  });
});

test.each([
  ['Switch this page to the dark theme', 'dark'],
  ['Passe cette page au thème clair', 'light'],
  ['Badilisha ukurasa huu uwe na mandhari ya giza', 'dark'],
  ['حوّل هذه الصفحة إلى المظهر الداكن', 'dark'],
])('%s', (text, theme) => {
  expect(readRequest(text)).toMatchObject({ tool: 'set_page_theme', args: { theme } });
});

test.each(['What is a chart?', 'Draw a chart', 'Which theme is dark?', 'It is dark'])(
  '%s asks for no tool of the page',
  (text) => {
    expect(readPageRequest(text)).toBeUndefined();
  },
);

test.each([
  ['Retiens que je cultive du thé', 'je cultive du thé'],
  ['Kumbuka kwamba ninalima chai', 'ninalima chai'],
  ['تذكر أنني أزرع الشاي', 'أزرع الشاي'],
])('%s is remembered', (text, fact) => {
  expect(readRequest(text)).toMatchObject({ tool: 'remember', args: { text: fact } });
});
