import type { Forms } from '../forms/forms.ts';
import type { FormSource, Submission } from '../forms/protocol.ts';
import { readConstants } from './constants.ts';
import { type Manner, type ShownForm, WalkFault, walkForm } from './walk-form.ts';

export interface FormExploration {
  submissions: Submission[];
  /** Questions that were shown, without the numbers of repeats. */
  seen: Set<string>;
  faults: string[];
}

export interface FormExploreOptions {
  forms: Pick<Forms, 'press'>;
  source: FormSource;
  language: string;
  phoneNumber: string;
  take: Readonly<Record<string, string>>;
  samples: readonly string[];
  see(shown: ShownForm): void;
  isOver(): boolean;
}

const manners: readonly Manner[] = ['first', 'last', 1, 2, 3, 4];

/** Fills a form in several times, each time differently. */
export async function exploreForm(options: FormExploreOptions): Promise<FormExploration> {
  const { forms, source, see, isOver, samples, ...call } = options;
  const { language, phoneNumber, take } = call;
  const result: FormExploration = { submissions: [], seen: new Set(), faults: [] };
  const constants = readConstants(conditionsOf(source.xml));
  for (const manner of manners) {
    if (isOver()) break;
    try {
      const submission = await walkForm({
        manner,
        constants,
        samples,
        press: (shown, input) =>
          forms.press(source, {
            language,
            phoneNumber,
            take,
            ...(shown && { progress: shown.progress }),
            ...(input !== undefined && { input }),
          }),
        see(shown) {
          result.seen.add(plainPath(shown.progress.at));
          see(shown);
        },
      });
      result.submissions.push(submission);
    } catch (error) {
      if (!(error instanceof WalkFault) && !(error as Error).message.startsWith('a form')) throw error;
      if (!result.faults.includes((error as Error).message)) result.faults.push((error as Error).message);
    }
  }
  return result;
}

/** The questions of a form that a keypad can answer. */
export function questionsOf({ xml }: FormSource): string[] {
  const controls = xml.matchAll(/<(?:\w+:)?(?:input|select1|select|range|trigger|rank)\b[^>]*?\sref="(\/[^"]+)"/g);
  const media = new Set(
    Array.from(xml.matchAll(/<bind\b[^>]*>/g), ([bind]) => bind).flatMap((bind) =>
      /\stype="(?:geopoint|geotrace|geoshape|binary|intent)"/.test(bind)
        ? [/nodeset="([^"]+)"/.exec(bind)?.[1] ?? '']
        : [],
    ),
  );
  return [...new Set(Array.from(controls, ([, ref = '']) => ref))].filter((ref) => !media.has(ref));
}

function conditionsOf(xml: string): string[] {
  return Array.from(xml.matchAll(/\s(?:constraint|relevant|calculate|required)="([^"]*)"/g), ([, text = '']) =>
    text
      .replace(/&quot;|&apos;/g, "'")
      .replace(/&gt;/g, '>')
      .replace(/&lt;/g, '<'),
  );
}

function plainPath(at: string): string {
  return at.replace(/\[\d+\]/g, '');
}
