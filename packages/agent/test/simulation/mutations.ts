import type { Mutation } from '../../../store/test/simulation/mutate.ts';

type Edit = Mutation['edits'][number];

const src = 'packages/agent/src';
const inFile =
  (file: string) =>
  (name: string, ...edits: Edit[]): Mutation => ({ name, file: `${src}/${file}`, edits });
const statements = inFile('store/run-transitions.ts');
const writes = inFile('store/run-writes.ts');
const approvals = inFile('store/approvals.ts');
const owner = inFile('runs/owner.ts');
const queue = inFile('runs/queue.ts');
const hub = inFile('runs/hub.ts');
const takeOver = inFile('runs/take-over.ts');
const steps = inFile('runs/steps.ts');
const frames = inFile('runs/frames.ts');
const follow = inFile('runs/follow.ts');

const withoutGuard = (name: string, guard: string) =>
  statements(`the statement of \`${name}\` without \`${guard}\``, [
    '...asked.map(',
    `...asked.filter((one) => name !== '${name}' || one !== '${guard}').map(`,
  ]);
const byAnyone = (name: string) =>
  statements(`the statement of \`${name}\` by whoever was the owner`, [
    "by === 'user' ? []",
    `by === 'user' || name === '${name}' ? []`,
  ]);

/** Faults in guards and in the order of things, including those that were found in use. */
export const mutations: Mutation[] = [
  withoutGuard('start', 'not-aborting'),
  withoutGuard('start', 'first-of-session'),
  withoutGuard('step', 'not-aborting'),
  withoutGuard('ask', 'not-aborting'),
  withoutGuard('resume', 'not-aborting'),
  withoutGuard('claim', 'owner-dead'),
  withoutGuard('replace', 'replaced'),
  ...['start', 'step', 'outcomes', 'frames', 'ask', 'resume', 'complete', 'fail', 'stop', 'release'].map(byAnyone),
  statements('an abort of a run that has ended', [
    'sql`ended_at is null and status',
    "sql`${name === 'abort' ? sql.raw('') : sql.raw('ended_at is null and')} ${name === 'abort' ? sql.raw(\"coalesce(status, '') <> '' or\") : sql.raw('')} status",
  ]),
  statements('an abort that is not stored', ['sql`aborting = 1`,', 'sql`aborting = aborting`,']),
  statements('a take-over without a new epoch', ['epoch = epoch + 1', 'epoch = epoch']),
  statements('a death that is not counted', ["when status = 'running' and instance <> '' then 1", 'when 1 = 0 then 1']),
  statements('a release that keeps the owner', [
    "'give-up': () => sql`instance = ''`",
    "'give-up': () => sql`instance = instance`",
  ]),
  statements('an abort that is confirmed is forgotten at the end', [
    "status = case aborting when 1 then 'aborted' else ${sql.lit(to)} end",
    'status = ${sql.lit(to)}',
  ]),
  statements('the effects of a statement whose guard has refused it', ['if (rows.length > 0) for', 'for']),
  statements('a run waits for those after it', [
    'earlier.number < agent_run.number',
    'earlier.number > agent_run.number',
  ]),
  statements('a run waits for ended ones too', [
    'earlier.number < agent_run.number and earlier.ended_at is null',
    'earlier.number < agent_run.number',
  ]),
  statements('a run begins at once behind another', [
    "case live.runs when 0 then 'running' else 'queued' end",
    "'running'",
  ]),
  writes('frames are taken back by a late write', ['where excluded.last >= agent_frame.last', 'where true']),
  writes('an answer that is not stored with its end', [
    'from ${run} as run where true on conflict (id) do nothing`',
    'from ${run} as run where false on conflict (id) do nothing`',
  ]),
  writes('a message that is sent twice with its key', [
    'if (send) await statements.insertSend(',
    'if (false) await statements.insertSend(',
  ]),
  writes('a replaced message continues', [
    'aborted = (await abortReplaced({ sessionId, number }, trx)).map(({ id }) => id);',
    'aborted = [];',
  ]),
  approvals('an approval that is answered twice', [
    ".where('status', '=', 'pending')\n          .where('expires_at', '>', now)\n          .where(ofLiveRuns)\n          .$if(approved, (query)",
    ".where('expires_at', '>', now)\n          .where(ofLiveRuns)\n          .$if(approved, (query)",
  ]),
  approvals('an approval of a run that is aborted', ['      and agent_run.aborting = 0\n', '']),
  approvals('a run that waits although it is not its owner’s any more', ['if (!waiting) return false;', '']),
  approvals('what is not answered never expires', [
    "status = 'pending' and expires_at <= ${now}",
    "status = 'pending' and expires_at <= 0",
  ]),
  steps('a tool begins before its step is stored', [
    'if (!(await runs.beginStep(toStep(result, { isRepeatable })))) throw await toStop();',
    'void runs.beginStep(toStep(result, { isRepeatable })).catch(() => {});',
  ]),
  steps('a tool begins although its step was refused', [
    'if (!(await runs.beginStep(toStep(result, { isRepeatable })))) throw await toStop();',
    'await runs.beginStep(toStep(result, { isRepeatable }));',
  ]),
  steps('a tool begins twice after its owner died', ['if (open === undefined) return true;', 'return true;']),
  steps(
    'a refused call runs',
    ['return refusal ?? (fingerprints', 'return (fingerprints'],
    [
      'return gated.has(toolCallId) && !nested.has(toolCallId) ? toRefusal(undefined) : undefined;',
      'return undefined;',
    ],
    [
      'isApproved: (id: string): boolean =>\n      approvals.some(',
      'isApproved: (id: string): boolean =>\n      true || approvals.some(',
    ],
  ),
  steps('the outcomes of a step are stored under the next number', [
    'const step = { ...owned, number, outcomes',
    'const step = { ...owned, number: number + 1, outcomes',
  ]),
  inFile('turn/tool-call.ts')(
    'a tool begins after an abort',
    ['    abortSignal.throwIfAborted();\n    // Immediately', '    // Immediately'],
    ['    abortSignal.throwIfAborted();\n    const work', '    const work'],
  ),
  queue('a queued run depends on broadcasts alone', [
    'const timer = setTimeout(wake, pollMs);',
    'const timer = setTimeout(() => {}, pollMs);',
  ]),
  queue('the next run is not called, and does not ask', [
    'const started = await tryStart().catch(() => undefined);',
    "const started = signal.aborted ? undefined : await tryStart().catch(() => undefined).then((it) => it ?? new Promise<undefined>((resolve) => signal.addEventListener('abort', () => resolve(undefined))));",
  ]),
  hub('the reply to a begin is lost, and its run is nobody’s', [
    'if (live.isOwn(owned.runId) || !(await runs.release(owned))) continue;',
    'continue;',
  ]),
  hub('runs that are under way are released as nobody’s', ['if (live.isOwn(owned.runId) || ', 'if (']),
  hub('a take-over without a claim', [
    'const claimed = await claim();\n        if (!claimed || !turn) return false;',
    "const claimed = (await claim()) ?? { epoch: 1, status: 'running' as const, frames: '', steps: [] };\n        if (!turn) return false;",
  ]),
  takeOver(
    'a take-over that reads before it claims',
    [
      'const claimed = await parts.runs.claim(found, parts.instance, parts.isAlone);',
      'const steps = await parts.runs.steps(found.runId);\n  const frames = await parts.runs.frames(found.runId, 0);\n  const claimed = await parts.runs.claim(found, parts.instance, parts.isAlone);',
    ],
    [
      '    const steps = await parts.runs.steps(found.runId);\n    const frames = await parts.runs.frames(found.runId, 0);\n',
      '',
    ],
  ),
  takeOver('a take-over ends a run with the epoch before', [
    'const own = { ...found, ...claimed };',
    'const own = { ...found };',
  ]),
  takeOver(
    'a sweep that forgets runs after the first fault',
    [
      'if (found.length < batchSize) break;',
      'if (faults.length > 0) isBroken = true;\n    if (found.length < batchSize) break;',
    ],
    [
      'const found = await runs.listInterrupted({ instance',
      'const found = isBroken ? [] : await runs.listInterrupted({ instance',
    ],
    ['const maxBatches = 10;', 'const maxBatches = 10;\nlet isBroken = false;'],
  ),
  inFile('store/runs.ts')('a sweep that forgets runs whose approvals are answered', [
    'or not exists (${pending}) or',
    'or',
  ]),
  takeOver(
    'a run that is ended for a dead owner has no frames',
    ['run.stopCalls();\n  if (!isAborting)', 'run.stopCalls();\n  const { read } = run.frames;\n  if (!isAborting)'],
    ['const { text, last } = run.frames.read(stored,', 'const { text, last } = run.frames.read(stored + 1,'],
  ),
  frames('frames count as stored before they are', [
    '    const frames = unstored();\n    try {',
    '    const frames = unstored();\n    stored = frames.last;\n    try {',
  ]),
  frames('the last frames are sent twice', [
    'return { first: stored + 1, last, body: text };',
    'return { first: Math.max(1, stored), last, body: text };',
  ]),
  follow('frames with a gap before them are added', [
    'if (message.body !== undefined && message.first <= frames.length + 1) add',
    'if (message.body !== undefined) add',
  ]),
  follow(
    'a reader asks for the state after the frames',
    ['    const state = await runs.state(runId);\n    for', '    for'],
    [
      '    // The session was deleted meanwhile,',
      '    const state = await runs.state(runId);\n    // The session was deleted meanwhile,',
    ],
  ),
  follow('a reader depends on broadcasts alone', ['if (entry.isRead && !frames.ended) void read();', '']),
  owner('`done` is sent before the end is stored', [
    '    const stored = await storeEnd(runs, last,',
    '    if (!run.frames.ended) run.finish({ ...last.answer, status }, undefined);\n    const stored = await storeEnd(runs, last,',
  ]),
  owner('plugins hear of an end that another owner stored', [
    "if (stored.kind === 'new-owner') return live.leave(entry);",
    "if (stored.kind === 'new-owner') await parts.onTurnEnd?.(toTurnEnd(turn, { runId, status, usage, usageByModel: run.usageByModel() }));\n    if (stored.kind === 'new-owner') return live.leave(entry);",
  ]),
  owner('an end whose reply was lost counts as another owner’s', [
    'const isOwn = state.epoch === end.epoch && hasEnded(state.status);',
    'const isOwn = false;',
  ]),
  owner('a run that its user has not answered yet continues', [
    "let recorded = begun.status === 'waiting' ? undefined : await",
    'let recorded: RecordedRun | undefined = await',
  ]),
  owner('steps of the owner before are not read', [
    'recorded ??= await limit.without(() => waitForUser(entry));',
    'recorded ??= { ...(await limit.without(() => waitForUser(entry))), steps: [] };',
  ]),
  {
    name: 'a task is sent under another key at each try',
    file: 'packages/agent-plugins/src/tasks/tasks-runner.ts',
    edits: [['key: `${id} ${dueAt}`', 'key: `${id} ${Date.now()}`']],
  },
  {
    name: 'a task is over before it is sent',
    file: 'packages/agent-plugins/src/tasks/tasks-runner.ts',
    edits: [['const status = task.prompt', 'await finish(task, false);\n      const status = task.prompt']],
  },
];
