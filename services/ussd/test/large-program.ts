/** A program of many states, each with a question, a computation, a branch and a menu. */
export function largeProgram(states: number): Record<string, string> {
  const rounds = Array.from({ length: Math.floor(states / 4) }, (_, i) => i);
  const next = (i: number) => (i + 1 < rounds.length ? `ask${i + 1}` : 'home');
  const yaml = rounds.map(
    (i) => `  ask${i}: { kind: prompt, text: ask.a${i}, type: integer, min: 0, max: 100, save: a${i}, to: add${i} }
  add${i}: { kind: set, values: { s${i}: a${i} * 2 + 1 }, to: way${i} }
  way${i}: { kind: branch, when: [{ that: s${i} > 10, to: page${i} }], else: home }
  page${i}: { kind: menu, text: page.p${i}, options: [{ text: further, to: ${next(i)} }] }`,
  );
  return {
    'program.yaml': `name: large
codes: ["*384*8#"]
extends: palaver
languages: [en]
start: home
states:
  home: { kind: menu, text: home, options: [{ text: further, to: ask0 }] }
${yaml.join('\n')}
`,
    'locales/en.yaml': `home: Large
further: Further
ask:
${rounds.map((i) => `  a${i}: "Question ${i}?"`).join('\n')}
page:
${rounds.map((i) => `  p${i}: "{a${i}} gives {s${i}}"`).join('\n')}
`,
  };
}
