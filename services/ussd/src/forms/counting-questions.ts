/**
 * Questions that say how many instances a repeat has (`jr:count`), directly or by a calculation; relative ones by the end of
 * their path. The engine makes the instances before it looks at a constraint.
 */
export function findCountingQuestions(xml: string): ReadonlySet<string> {
  const calculations = new Map(
    Array.from(xml.matchAll(/<bind\b[^>]*>/g), ([bind]) => [
      attributeOf(bind, 'nodeset'),
      attributeOf(bind, 'calculate'),
    ]),
  );
  const open = Array.from(xml.matchAll(/\sjr:count="([^"]*)"/g), ([, count = '']) => pathsIn(count)).flat();
  const found = new Set<string>();
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (found.has(path)) continue;
    found.add(path);
    for (const [nodeset = '', calculation = ''] of calculations)
      if (nodeset.endsWith(path)) open.push(...pathsIn(calculation));
  }
  return found;
}

export function isCounting(questions: ReadonlySet<string>, at: string): boolean {
  const plain = at.replace(/\[\d+\]/g, '');
  return [...questions].some((path) => plain.endsWith(path));
}

function attributeOf(element: string, name: string): string {
  return new RegExp(`\\s${name}="([^"]*)"`).exec(element)?.[1] ?? '';
}

/** ` ../n ` and `/data/n`, both with a slash before the last names. */
function pathsIn(expression: string): string[] {
  return Array.from(expression.matchAll(/(?:\.{1,2}\/)*(\/?[A-Za-z_][\w.-]*(?:\/[\w.-]+)*)/g), ([whole, path = '']) =>
    path.startsWith('/') ? path : whole.includes('/') ? `/${path}` : '',
  ).filter((path) => path !== '');
}
