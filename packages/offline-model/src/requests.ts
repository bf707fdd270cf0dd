import { findLanguageTag } from '@palaver/contract/internal';

export type AnswerStyle = { language?: string; length?: string };

type Preference = Record<string, string>;

// Up to the end of the clause: "call me Ana and answer in French" holds two requests.
const rest = '((?:(?! and | et | na |[,:]).){1,80})';
const names: { pattern: RegExp; field: string }[] = [
  { pattern: new RegExp(`^(?:please )?(?:always )?call me ${rest}`, 'i'), field: 'userName' },
  {
    pattern: new RegExp(`^(?:i(?:'ll| will|’ll)? call you|your name is(?: now)?|you are called) ${rest}`, 'i'),
    field: 'agentName',
  },
];
// Without one of these words a request is for this answer only.
const lasting =
  /\b(?:from now on|from today(?: on)?|from here on|always|in (?:the )?future|every time|désormais|dorénavant|toujours|kuanzia sasa|daima)\b/i;
/** Words that negate a lasting request, or limit it to one answer. */
const onlyNow =
  /\b(?:just |only )?(?:this (?:once|time|one|answer|question|message)|for (?:this|now)|once)\b|\banswer this\b/i;
const negated = /\b(?:do not|don['’]t|never|no longer|not)\b/i;

const memory =
  /^(?:(?:please )?remember(?: that)?:?|retiens que|souviens-toi que|kumbuka(?: kwamba)?|تذكر أن(?:ني)?) (.{1,2000})$/is;

const styles: { pattern: RegExp; toPreference(match: string): Preference }[] = [
  {
    pattern:
      /\b(?:be|keep (?:it|your answers|answers)|answers should be|answer|reply|write) (?:very |more )?(brief|short|concise|detailed|long)(?:ly)?\b/i,
    toPreference: (length) => ({ length: length.toLowerCase() }),
  },
  {
    pattern: /\b(?:be|sound|stay) (?:more )?(casual|neutral|formal)\b/i,
    toPreference: (formality) => ({ formality: formality.toLowerCase() }),
  },
  {
    pattern: /\b(?:be|sound) (?:more )?(friendly|polite|dry|encouraging|cheerful|serious|funny)\b/i,
    toPreference: (tone) => ({ tone: tone.toLowerCase() }),
  },
  {
    pattern:
      /\b(?:use|answer (?:with|in)|format (?:as|with)) (bullet points|plain text|markdown|tables|numbered lists)\b/i,
    toPreference: (format) => ({ format: format.toLowerCase() }),
  },
];
const spoken =
  /\b(?:(?:answer|reply|respond|write|talk)(?: this)?(?: to me)?(?: only)? in|speak(?: to me)?(?: only)?(?: in)?|réponds(?:-moi)? en|parle(?:-moi)? en|jibu kwa|ongea) (\p{L}{2,20}(?:-\p{L}{2,8})?)/iu;

/** What a message asks the agent to keep or do. A question is never a request, and only clear words make a request permanent. */
export function readRequest(text: string): OfflineRequest | undefined {
  const words = text.trim().replace(/[.!]$/, '');
  return (
    readReminder(words) ??
    readRegular(words) ??
    readTaskQuestion(words) ??
    readMemoryRequest(text) ??
    readPageRequest(text) ??
    readPreference(text)
  );
}

export function readAnswerStyle(text: string): AnswerStyle {
  const style: AnswerStyle = {};
  for (const { text: sentence } of toSentences(text)) {
    if (negated.test(sentence)) continue;
    const language = readLanguage(sentence);
    const length =
      styles[0]?.pattern.exec(sentence)?.[1] ?? (/^(?:briefly|in short)\b/i.test(sentence) ? 'brief' : undefined);
    if (language) style.language = language;
    if (length) style.length = length.toLowerCase();
  }
  return style;
}

function toSentences(text: string): { text: string; isQuestion: boolean }[] {
  return (text.slice(0, 2_000).match(/[^.!?;\n]+[.!?;\n]?/g) ?? []).map((piece) => ({
    text: piece.replace(/[.!?;\n]$/, '').trim(),
    isQuestion: piece.endsWith('?') || questionWords.test(piece),
  }));
}

const questionWords =
  /^\s*(?:what|who|whom|whose|why|how|when|where|which|can|could|would|will|do|does|did|is|are|should|may|may i|pourquoi|comment|qui|quand|où|est-ce|je|nani|kwa nini|vipi|lini|wapi)\b/i;

function readMemoryRequest(text: string): OfflineRequest | undefined {
  const isQuestion = text.trimEnd().endsWith('?') || questionWords.test(text);
  const asked = text.trim().replace(/[?.!]+$/, '');
  const recall = /^(?:so |and )?what (?:do|can) you remember(?: about (.{1,200}))?$/is.exec(asked);
  if (recall)
    return { tool: 'recall', args: recall[1] ? { query: recall[1] } : {}, reasoning: 'The user asks what I remember.' };
  if (isQuestion) return undefined;
  const plain = (words: string) => words.trim().replace(/\.$/, '');
  const fact = memory.exec(text)?.[1];
  if (fact)
    return { tool: 'remember', args: { text: plain(fact) }, reasoning: 'The user asks me to remember something.' };
  const query = /^(?:please )?forget(?: about| that)? (.{1,200})$/is.exec(text)?.[1];
  if (!query) return undefined;
  return { tool: 'forget', args: { query: plain(query) }, reasoning: 'The user asks me to forget something.' };
}

function readPreference(text: string): OfflineRequest | undefined {
  const args: Preference = {};
  for (const { text: sentence, isQuestion } of toSentences(text)) {
    if (isQuestion || negated.test(sentence) || onlyNow.test(sentence)) continue;
    const named = readNames(sentence);
    Object.assign(args, named);
    if (lasting.test(sentence) || Object.keys(named).length > 0) Object.assign(args, readStyles(sentence));
  }
  if (Object.keys(args).length === 0) return undefined;
  const reasoning = 'The user says how they want to be answered; I save it.';
  return { tool: 'set_user_preferences', args, reasoning };
}

function readNames(sentence: string): Preference {
  const found: Preference = {};
  for (const clause of sentence.split(/,| and (?=(?:please )?call me|i(?:'ll|’ll| will)? call you)/i)) {
    const plain = clause.replace(lasting, '').trim();
    for (const { pattern, field } of names) {
      const name = pattern.exec(plain)?.[1]?.trim();
      if (name && !time.test(name)) found[field] = name;
    }
  }
  return found;
}

/** "call me later" and "call me back" ask for a call. */
const time = /^(?:back|later|tomorrow|tonight|today|now|when|at|on|in|if|again|maybe|an?|the|on monday)\b/i;

function readStyles(sentence: string): Preference {
  const found: Preference = {};
  for (const { pattern, toPreference } of styles) {
    const match = pattern.exec(sentence)?.[1];
    if (match) Object.assign(found, toPreference(match));
  }
  const language = readLanguage(sentence);
  return language ? { ...found, language } : found;
}

/** "answer in short sentences" names no language and has no tag of one. */
function readLanguage(sentence: string): string | undefined {
  const word = spoken.exec(sentence)?.[1];
  if (!word) return undefined;
  if (findLanguageTag(word)) return word;
  if (!/^[a-z]{2}(?:-[A-Za-z]{2,8})?$/.test(word)) return undefined;
  const name = new Intl.DisplayNames(['en'], { type: 'language' }).of(word.slice(0, 2)) ?? '';
  return findLanguageTag(name) === undefined ? undefined : word;
}

type OfflineRequest = { tool: string; args: Record<string, unknown>; reasoning: string };

// Tools that a page may offer: a chart drawn in the conversation, and the page's colours.
const chart = /\b(?:chart|graphique|chati)\b|مخطط/i;
const theme = /\b(?:theme|thème|mandhari)(?![\p{L}])|المظهر/iu;
const themes = [
  { name: 'dark', pattern: /\b(?:dark|sombre|giza)\b|الداكن/i },
  { name: 'light', pattern: /\b(?:light|clair|angavu)\b|الفاتح/i },
  { name: 'system', pattern: /\b(?:system|système|mfumo)(?![\p{L}])|النظام/iu },
];
const maxBars = 12;

export function readPageRequest(text: string): OfflineRequest | undefined {
  return readChart(text.slice(0, 2_000)) ?? readTheme(text.slice(0, 200));
}

function readChart(text: string): OfflineRequest | undefined {
  const [intro = '', list = ''] = text.split(/\s*:\s*/, 2);
  if (!chart.test(intro)) return undefined;
  const bars = list.split(/[,،;\n]/).flatMap((entry) => {
    const [, label, value] = /^\s*(.{1,60}?)\s+(\d{1,12}(?:\.\d{1,6})?)\s*\.?$/u.exec(entry) ?? [];
    return label && value ? [{ label, value: Number(value) }] : [];
  });
  if (bars.length === 0) return undefined;
  const title = intro.trim();
  return { tool: 'show_bars', args: { title, bars: bars.slice(0, maxBars) }, reasoning: 'The user asks for a chart.' };
}

function readTheme(text: string): OfflineRequest | undefined {
  const wanted = theme.test(text) ? themes.find(({ pattern }) => pattern.test(text)) : undefined;
  if (!wanted || text.trimEnd().endsWith('?')) return undefined;
  return { tool: 'set_page_theme', args: { theme: wanted.name }, reasoning: 'The user asks for another theme.' };
}

const days = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const span = '(?:in )(\\d{1,6}|an?|one) (minute|hour|day|week)s?';
const clock =
  'every (day|weekday|sunday|monday|tuesday|wednesday|thursday|friday|saturday) at (\\d{1,2})(?::(\\d{2}))?\\s*(am|pm)?';
const what = '(.{1,500}?)';
const remind = '(?:please )?remind me(?: to| about| that| of)? ';

function readReminder(text: string): OfflineRequest | undefined {
  const after = new RegExp(`^${remind}${what} ${span}$`, 'is').exec(text);
  const before = new RegExp(`^${span},? ${remind}${what}$`, 'is').exec(text);
  const [prompt, count, unit] = after ? after.slice(1) : before ? [before[3], before[1], before[2]] : [];
  if (!prompt || !count || !unit) return undefined;
  const number = /^\d+$/.test(count) ? Number(count) : 1;
  return schedule({ prompt, in: `${number} ${unit.toLowerCase()}${number === 1 ? '' : 's'}` });
}

function readRegular(text: string): OfflineRequest | undefined {
  const before = new RegExp(`^${clock}:?,? (?:${remind})?${what}$`, 'is').exec(text);
  const after = new RegExp(`^${remind}${what} ${clock}$`, 'is').exec(text);
  const [prompt, day, hour, minute, half] = after ? after.slice(1) : before ? [before[5], ...before.slice(1, 5)] : [];
  if (!prompt || !day || !hour) return undefined;
  const hours = (Number(hour) % (half ? 12 : 24)) + (half?.toLowerCase() === 'pm' ? 12 : 0);
  const weekday = { day: '*', weekday: '1-5' }[day.toLowerCase()] ?? String(days.indexOf(day.toLowerCase()));
  return schedule({ prompt, cron: `${Number(minute ?? 0)} ${hours} * * ${weekday}` });
}

function readTaskQuestion(text: string): OfflineRequest | undefined {
  if (/^(?:what are|list|show)(?: me)? my (?:tasks|reminders)\??$|^what is scheduled\??$/i.test(text))
    return { tool: 'list_tasks', args: {}, reasoning: 'The user asks what is scheduled.' };
  const id = /^cancel (?:the )?(?:task|reminder) ([0-9a-f-]{36})$/i.exec(text)?.[1];
  return id ? { tool: 'cancel_task', args: { id }, reasoning: 'The user wants a task cancelled.' } : undefined;
}

function schedule(args: Record<string, string>): OfflineRequest {
  return { tool: 'schedule_task', args, reasoning: 'The user wants something done later; I schedule it.' };
}
