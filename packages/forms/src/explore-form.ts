import { type FormExploration, type FormSource, type FormToExplore, readConstants } from '@palaver/program/internal';
import type { Forms } from './forms.ts';
import { type Strategy, WalkFault, walkForm } from './walk-form.ts';

const strategies: readonly Strategy[] = ['first', 'last', 1, 2, 3, 4];

/** Fills a form in several times, each time differently. */
export async function exploreForm(forms: Pick<Forms, 'press'>, form: FormToExplore): Promise<FormExploration> {
  const { source, see, isOver, samples, ...call } = form;
  const { language, phoneNumber, take } = call;
  const result: FormExploration = { submissions: [], seen: new Set(), faults: [] };
  const constants = readConstants(conditionsOf(source.xml));
  const choices = choicesOf(source.xml);
  // After some answers a question may have no answer; it is a fault where no walk came past it.
  const [passed, stuck] = [new Set<string>(), new Map<string, string>()];
  for (const strategy of strategies) {
    if (isOver()) break;
    const walked = new Set<string>();
    try {
      const submission = await walkForm({
        strategy,
        constants,
        samples,
        choices,
        press: (shown, input) =>
          forms.press(source, {
            language,
            phoneNumber,
            take,
            ...(shown && { progress: shown.progress }),
            ...(input !== undefined && { input }),
          }),
        see(shown) {
          walked.add(plainPath(shown.progress.at));
          see(shown);
        },
      });
      result.submissions.push(submission);
      for (const at of walked) passed.add(at);
    } catch (error) {
      const { message, at = '' } = error as WalkFault;
      if (!(error instanceof WalkFault) && !message.startsWith('a form')) throw error;
      stuck.set(message, plainPath(at));
    }
    for (const at of walked) result.seen.add(at);
  }
  for (const [message, at] of stuck) if (!passed.has(at)) result.faults.push(message);
  return result;
}

/** The questions of a form that a keypad can answer. */
export function questionsOf({ xml }: FormSource): string[] {
  const controls = xml.matchAll(
    /<(?:\w+:)?(?:input|select1|select|range|trigger|rank)\b[^>]*?\sref="(\/[^"]+)"[^>]*>/g,
  );
  const media = new Set(
    Array.from(xml.matchAll(/<bind\b[^>]*>/g), ([bind]) => bind).flatMap((bind) =>
      /\stype="(?:geopoint|geotrace|geoshape|binary|intent)"/.test(bind)
        ? [/nodeset="([^"]+)"/.exec(bind)?.[1] ?? '']
        : [],
    ),
  );
  const asked = [...controls].filter(([control]) => !/\sappearance="(?:[^"]*\s)?label[\s"]/.test(control));
  return [...new Set(asked.map(([, ref = '']) => ref))].filter((ref) => !media.has(ref));
}

function conditionsOf(xml: string): string[] {
  return Array.from(xml.matchAll(/\s(?:constraint|relevant|calculate|required)="([^"]*)"/g), ([, text = '']) =>
    text
      .replace(/&quot;|&apos;/g, "'")
      .replace(/&gt;/g, '>')
      .replace(/&lt;/g, '<'),
  );
}

/** Some values of its choices. */
function choicesOf(xml: string): string[] {
  const values = Array.from(xml.matchAll(/<(name|value)>([^<>&]{1,40})<\/\1>/g), ([, , value = '']) => value.trim());
  return [...new Set(values.slice(0, 200))].slice(0, 5);
}

function plainPath(at: string): string {
  return at.replace(/\[\d+\]/g, '');
}
