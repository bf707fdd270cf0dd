import { findLanguageTag } from '@palaver/contract/internal';
import type { AnswerStyle } from './requests.ts';

type Language = 'en' | 'fr' | 'sw';

interface Phrases {
  noModel: string;
  noModelBrief: string;
  phone: string;
  phoneDone: string;
  phoneFailed: string;
  abilities: string;
  toolHint: string;
  reauthorize: string;
  toolFailed(name: string): string;
  reminder(prompt: string): string;
  toolDone: Partial<Record<string, (output: unknown) => string>>;
}

const setup = 'LLM_PROVIDER, LLM_API_KEY, LLM_MODEL (LLM_BASE_URL)';

export const phrases: Record<Language, Phrases> = {
  en: {
    noModel: `no language model is configured, so I can only follow simple requests: ask "what can you do", tell me how you like to be answered, or ask me to remember something. To get real answers, set ${setup} and start me again.`,
    noModelBrief: `no language model is configured; set ${setup}.`,
    phone:
      'I can only help with simple requests here: "call me Ana", "from now on answer in French", "remember that ...", "what do you remember".',
    phoneDone: 'Done.',
    phoneFailed: 'That did not work. Please try again later.',
    abilities:
      'I work without a language model. Tell me "call me Ana", "from now on answer in French", "always be brief", "remember that …" or ask "what do you remember". These are my tools:',
    toolHint: 'Use any of them by "/tool NAME {json}".',
    reauthorize: 'I need your authorisation again before I can do that. Please renew it and ask me once more.',
    toolFailed: (name) => `${name} did not work:`,
    reminder: (prompt) => `It is time: ${prompt}`,
    toolDone: {
      schedule_task: (output) => withTime(output, (when) => `Scheduled; the next time is ${when}.`),
      list_tasks: (output) => listTasks(output, 'This is scheduled:', 'Nothing is scheduled.'),
      cancel_task: () => 'Cancelled.',
      set_user_preferences: () => 'Noted. I will keep to that from now on.',
      remember: () => 'I will remember that.',
      show_bars: () => 'Here is the chart.',
      set_page_theme: () => 'The page has changed its theme.',
      forget: (output) => (isNothing(output) ? 'I remember nothing like that.' : 'Forgotten.'),
      recall: (output) => listFacts(output, 'This is what I remember:', 'I remember nothing about that yet.'),
    },
  },
  fr: {
    noModel: `aucun modèle de langage n’est configuré ; je ne peux suivre que des demandes simples : demandez « que peux-tu faire », dites-moi comment vous aimez qu’on vous réponde, ou demandez-moi de retenir quelque chose. Pour de vraies réponses, définissez ${setup} puis redémarrez-moi.`,
    noModelBrief: `aucun modèle de langage n’est configuré ; définissez ${setup}.`,
    phone:
      'je ne peux suivre ici que des demandes simples : "call me Ana", "from now on answer in French", "remember that ...", "what do you remember".',
    phoneDone: 'C’est fait.',
    phoneFailed: 'Cela n’a pas marché. Merci de réessayer plus tard.',
    abilities: 'Je fonctionne sans modèle de langage. Voici mes outils :',
    toolHint: 'Utilisez-les par « /tool NOM {json} ».',
    reauthorize: 'Il me faut de nouveau votre autorisation. Renouvelez-la, puis redemandez-moi.',
    toolFailed: (name) => `${name} n’a pas fonctionné :`,
    reminder: (prompt) => `C’est l’heure : ${prompt}`,
    toolDone: {
      schedule_task: (output) => withTime(output, (when) => `C’est prévu ; la prochaine fois : ${when}.`),
      list_tasks: (output) => listTasks(output, 'Voici ce qui est prévu :', 'Rien n’est prévu.'),
      cancel_task: () => 'Annulé.',
      set_user_preferences: () => 'C’est noté. Je m’y tiendrai désormais.',
      remember: () => 'Je m’en souviendrai.',
      show_bars: () => 'Voici le graphique.',
      set_page_theme: () => 'La page a changé de thème.',
      forget: (output) => (isNothing(output) ? 'Je ne me souviens de rien de tel.' : 'Oublié.'),
      recall: (output) => listFacts(output, 'Voici ce dont je me souviens :', 'Je ne me souviens de rien à ce sujet.'),
    },
  },
  sw: {
    noModel: `hakuna modeli ya lugha iliyowekwa, kwa hiyo naweza kufuata maombi rahisi tu: uliza "unaweza kufanya nini", niambie unavyopenda kujibiwa, au niombe nikumbuke jambo. Kwa majibu kamili, weka ${setup} kisha uniwashe tena.`,
    noModelBrief: `hakuna modeli ya lugha iliyowekwa; weka ${setup}.`,
    phone:
      'hapa naweza kusaidia kwa maombi rahisi tu: "call me Ana", "from now on answer in French", "remember that ...", "what do you remember".',
    phoneDone: 'Imefanyika.',
    phoneFailed: 'Haikufanikiwa. Tafadhali jaribu tena baadaye.',
    abilities: 'Ninafanya kazi bila modeli ya lugha. Hizi ndizo zana zangu:',
    toolHint: 'Tumia yoyote kwa "/tool JINA {json}".',
    reauthorize: 'Nahitaji idhini yako tena kabla ya kufanya hivyo. Tafadhali ihuishe kisha uniulize tena.',
    toolFailed: (name) => `${name} haikufanya kazi:`,
    reminder: (prompt) => `Wakati umefika: ${prompt}`,
    toolDone: {
      schedule_task: (output) => withTime(output, (when) => `Imepangwa; mara ijayo ni ${when}.`),
      list_tasks: (output) => listTasks(output, 'Haya yamepangwa:', 'Hakuna kilichopangwa.'),
      cancel_task: () => 'Imefutwa.',
      set_user_preferences: () => 'Nimeelewa. Nitafanya hivyo kuanzia sasa.',
      remember: () => 'Nitakumbuka hilo.',
      show_bars: () => 'Hii hapa chati.',
      set_page_theme: () => 'Ukurasa umebadilisha mandhari.',
      forget: (output) => (isNothing(output) ? 'Sikumbuki kitu kama hicho.' : 'Nimesahau.'),
      recall: (output) => listFacts(output, 'Haya ndiyo ninayokumbuka:', 'Sikumbuki chochote kuhusu hilo.'),
    },
  },
};

/** The language of this request or else of the system prompt, if the model has it. */
export function toLanguage(system: string, { language }: AnswerStyle = {}): Language {
  const named = language && (findLanguageTag(language) ?? language.slice(0, 2).toLowerCase());
  const wanted =
    named ?? /^- Answer in: ([a-z]{2})/m.exec(system)?.[1] ?? /^- Language of the phone: ([a-z]{2})/m.exec(system)?.[1];
  return wanted === 'fr' || wanted === 'sw' ? wanted : 'en';
}

function withTime(output: unknown, say: (when: string) => string): string {
  const { nextRunAt, timezone } = output as { nextRunAt: string; timezone: string };
  const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'short', timeZone: timezone });
  return say(`${format.format(new Date(nextRunAt))} (${timezone})`);
}

function listTasks(output: unknown, intro: string, none: string): string {
  const { tasks } = output as { tasks: { id: string; prompt: string; schedule: string }[] };
  if (tasks.length === 0) return none;
  return [intro, ...tasks.map(({ id, prompt, schedule }) => `- ${prompt} (${schedule}; ${id})`)].join('\n');
}

function isNothing(output: unknown): boolean {
  return (output as { forgotten?: number } | null)?.forgotten === 0;
}

function listFacts(output: unknown, intro: string, none: string): string {
  const facts = (output as { memories?: { text?: unknown }[] } | null)?.memories ?? [];
  return facts.length === 0 ? none : [intro, ...facts.map(({ text }) => `- ${String(text)}`)].join('\n');
}
