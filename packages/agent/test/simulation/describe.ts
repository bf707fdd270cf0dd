const marks: [RegExp, string][] = [
  [/insert into agent_run/, 'begin'],
  [/update agent_run set aborting = 1 where session_id/, 'replace'],
  [/update agent_run set aborting = 1 where id/, 'abort'],
  [/update agent_run set instance = '' /, 'release'],
  [/update agent_run set instance/, 'claim'],
  [/update agent_run set status = 'running', active/, 'start'],
  [/update agent_run set status = 'waiting'/, 'ask'],
  [/update agent_run set status = 'running', changed_at/, 'resume'],
  [/update agent_run set status = case aborting when 1 then 'aborted' else 'complete'/, 'complete'],
  [/update agent_run set status = case aborting when 1 then 'aborted' else 'failed'/, 'fail'],
  [/update agent_run set status = case aborting when 1 then 'aborted' else 'aborted'/, 'stop'],
  [/insert into agent_step/, 'step'],
  [/update agent_step/, 'outcomes'],
  [/insert into agent_frame/, 'frames'],
  [/insert into agent_task/, 'schedule'],
  [/update agent_task set (claimed_by = \?, lease_until = cast|lease_until)/, 'take a task'],
  [/update agent_task/, 'end a task'],
];

/** The transitions that statements have tried, or what else they have done. */
export function describe(statements: string[]): string {
  const text = statements.map((statement) => statement.replaceAll('"', '').replace(/\s+/g, ' '));
  const found = marks.filter(([mark]) => text.some((statement) => mark.test(statement))).map(([, name]) => name);
  const main = found.filter((name, _, all) => all.length === 1 || !['frames'].includes(name));
  if (main.length > 0) return main.includes('ask') ? 'ask' : main.join('+');
  return text[0]?.replace(/^(select|insert into|update|delete from).*?(agent_\w+|palaver_\w+).*/, '$1 $2') ?? '';
}
