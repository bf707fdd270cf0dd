import type { OfflineRequest } from './request.ts';

const days = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const span = '(?:in )(\\d{1,6}|an?|one) (minute|hour|day|week)s?';
const clock =
  'every (day|weekday|sunday|monday|tuesday|wednesday|thursday|friday|saturday) at (\\d{1,2})(?::(\\d{2}))?\\s*(am|pm)?';
const what = '(.{1,500}?)';
const remind = '(?:please )?remind me(?: to| about| that| of)? ';

/** Requests for later: "remind me to X in 10 minutes", "every Monday at 9 X". */
export function readTaskRequest(text: string): OfflineRequest | undefined {
  const words = text.trim().replace(/[.!]$/, '');
  return readReminder(words) ?? readRegular(words) ?? readTaskQuestion(words);
}

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
