import { t } from '../i18n/text.ts';

export const nodeSize = { width: 208, height: 68 };
const { width: w, height: h } = nodeSize;
const rectangle = `M1 1H${w - 1}V${h - 1}H1Z`;
const bars = `${rectangle}M10 1V${h - 1}M${w - 10} 1V${h - 1}`;

const outlines = {
  menu: toRounded(12),
  prompt: `M14 1H${w - 1}L${w - 14} ${h - 1}H1Z`,
  page: `M1 1H${w - 17}L${w - 1} 17V${h - 1}H1ZM${w - 17} 1V17H${w - 1}`,
  form: `M1 7H${w - 7}V${h - 1}H1ZM5 7V3H${w - 3}V${h - 5}H${w - 7}`,
  action: bars,
  branch: `M22 1H${w - 22}L${w - 1} ${h / 2}L${w - 22} ${h - 1}H22L1 ${h / 2}Z`,
  set: rectangle,
  call: bars,
  each: `M14 1H${w - 14}L${w - 1} 14V${h - 1}H1V14Z`,
  return: `M22 1H${w - 1}V${h - 1}H22L1 ${h / 2}Z`,
  end: toRounded(h / 2 - 1),
  outside: toRounded(6),
};

const isKnown = (kind: string): kind is keyof typeof outlines => Object.hasOwn(outlines, kind);

export const outlineOf = (kind: string) => (isKnown(kind) ? outlines[kind] : rectangle);

export const titleOf = (kind: string) => (isKnown(kind) ? t(`programs.kind-${kind}`) : kind || t('programs.noKind'));

function toRounded(r: number): string {
  const arc = (x: number, y: number) => `A${r} ${r} 0 0 1 ${x} ${y}`;
  return `M${1 + r} 1H${w - 1 - r}${arc(w - 1, 1 + r)}V${h - 1 - r}${arc(w - 1 - r, h - 1)}H${1 + r}${arc(1, h - 1 - r)}V${1 + r}${arc(1 + r, 1)}Z`;
}
