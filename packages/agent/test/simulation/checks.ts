import type { RunStatus } from '@palaver/contract';
import type { Database } from '../../../store/test/simulation/database.ts';
import { Violation } from '../../../store/test/simulation/outcome.ts';
import type { World } from '../../../store/test/simulation/world.ts';
import type { RunEvent } from '../../src/define/agent-run.ts';
import { parseFrame, splitFrames } from '../../src/runs/frames.ts';
import { endings, type TransitionName, transitions } from '../../src/runs/transitions.ts';
import { deadAfterMs } from '../../src/store/instances.ts';
import type { AgentDatabase } from '../../src/store/schema.ts';
import { applyTransition, type RunRow } from '../model/apply-transition.ts';
import { type ToolStart, tagOf, tokensPerCall, type Witness } from './instance.ts';

interface Row extends RunRow {
  id: string;
  session: string;
  number: number;
}
interface StepRow {
  runId: string;
  number: number;
  outcomes: string | null;
}
interface ApprovalRow {
  id: string;
  runId: string;
  userDid: string;
  status: string;
}
interface TaskRow {
  prompt: string;
  status: string;
  holder: string | null;
  dueAt: number;
}
interface Snapshot {
  runs: Map<string, Row>;
  steps: Map<string, StepRow>;
  approvals: Map<string, ApprovalRow>;
  /** The last stored frame of each run. */
  frames: Map<string, number>;
}

/** A message as its sender sees it. */
export interface Sent {
  tag: string;
  sessionId: string;
  messageId: string;
  /** The runs that were promised for it: one. */
  runIds: Set<string>;
}

const watched = ['agent_run', 'agent_step', 'agent_approval', 'agent_frame'];
const empty: Snapshot = { runs: new Map(), steps: new Map(), approvals: new Map(), frames: new Map() };
const hasEnded = ({ status }: { status: RunStatus }) => (endings as readonly string[]).includes(status);

export type Checks = ReturnType<typeof createChecks>;

/** What the checks read, prepared once. */
export function createSelects({ sqlite }: Pick<Database<AgentDatabase>, 'sqlite'>) {
  return {
    changes: sqlite.prepare('select total_changes() as n'),
    runs: sqlite.prepare(
      `select id, session_id as session, number, status, instance, epoch, deaths, aborting from agent_run`,
    ),
    steps: sqlite.prepare('select run_id as runId, number, outcomes from agent_step'),
    approvals: sqlite.prepare('select id, run_id as runId, user_did as userDid, status from agent_approval'),
    lastFrames: sqlite.prepare('select run_id as runId, max(last) as last from agent_frame group by run_id'),
    alive: sqlite.prepare('select id from agent_instance where seen_at > ?'),
    answer: sqlite.prepare(`select status from agent_message where run_id = ? and type = 'ai'`),
    tasks: sqlite.prepare(
      'select prompt, status, claimed_by as holder, max(lease_until, next_run_at) as dueAt from agent_task',
    ),
    question: sqlite.prepare(`select run_id as runId, content from agent_message where type = 'human'`),
    frames: sqlite.prepare('select first, last, body from agent_frame where run_id = ? order by first'),
    usage: sqlite.prepare(`select input_tokens as tokens,
      (select count(*) from agent_step where run_id = agent_run.id) as steps from agent_run where id = ?`),
  };
}

/**
 * The invariants of runs, and the reference that every change of the database is held against: a row changes as one of the
 * transitions says, by whom it says, and steps, approvals, answers and frames only as their run allows.
 */
export function createChecks(world: World, select: ReturnType<typeof createSelects>) {
  let before = empty;
  let seen = -1;
  /** The names of instances and the processes that have them. */
  const owners = new Map<string, string>();
  const starts = new Map<string, number>();
  /** The runs, and messages without a run, whose end plugins have received. */
  const ends = new Set<string>();
  const heard = new Set<string>();
  const readers: { runId: string; events: RunEvent[] }[] = [];
  const aborted = new Set<string>();
  const abortsAsked = new Set<string>();
  const replacementsAsked: Sent[] = [];
  /** Since when a queued run has had nothing before it. */
  const firstSince = new Map<string, number>();
  const taken = new Map<TransitionName, number>();

  /** The tables that may have changed, and the others as they were. */
  function read(tables: ReadonlySet<string>): Snapshot {
    return {
      runs: tables.has('agent_run') ? readRuns() : before.runs,
      steps: tables.has('agent_step') ? readSteps() : before.steps,
      approvals: tables.has('agent_approval') ? readApprovals() : before.approvals,
      frames: tables.has('agent_frame') ? readFrames() : before.frames,
    };
  }
  function readRuns(): Snapshot['runs'] {
    const rows = select.runs.all() as unknown as (Omit<Row, 'isAborting'> & { aborting: number })[];
    return new Map(rows.map(({ aborting, ...row }) => [row.id, { ...row, isAborting: aborting === 1 }]));
  }
  function readSteps(): Snapshot['steps'] {
    const steps = select.steps.all() as unknown as StepRow[];
    return new Map(steps.map((step) => [`${step.runId} ${step.number}`, step]));
  }
  function readApprovals(): Snapshot['approvals'] {
    const approvals = select.approvals.all() as unknown as ApprovalRow[];
    return new Map(approvals.map((approval) => [approval.id, approval]));
  }
  function readFrames(): Snapshot['frames'] {
    const frames = select.lastFrames.all() as { runId: string; last: number }[];
    return new Map(frames.map(({ runId, last }) => [runId, last]));
  }

  function fail(message: string): never {
    throw new Violation(message);
  }
  const count = (name: TransitionName) => void taken.set(name, (taken.get(name) ?? 0) + 1);
  const isSame = (a: RunRow, b: RunRow) =>
    a.status === b.status &&
    a.instance === b.instance &&
    a.epoch === b.epoch &&
    a.deaths === b.deaths &&
    a.isAborting === b.isAborting;

  /** The transitions that explain how a row has changed. */
  function explain(row: Row, after: Row): void {
    const process = world.process()?.name;
    const holds = (condition: string): boolean => {
      switch (condition) {
        case 'first-of-session':
          return ![...before.runs.values()].some(
            (other) => other.session === row.session && other.number < row.number && !hasEnded(other),
          );
        case 'nothing-pending':
          return ![...before.approvals.values()].some(({ runId, status }) => runId === row.id && status === 'pending');
        case 'owner-dead':
          return (
            row.instance === '' || !select.alive.all(world.now() - deadAfterMs).some(({ id }) => id === row.instance)
          );
        case 'older-than-request':
          return abortsAsked.has(row.id);
        case 'replaced':
          return replacementsAsked.some(({ tag, sessionId }) => {
            const replaced = runOf(tag);
            return (
              sessionId === row.session && row.number >= (before.runs.get(replaced ?? '')?.number ?? row.number + 1)
            );
          });
        default:
          return true;
      }
    };
    const find = (from: Row, most: number): string | undefined => {
      for (const name of Object.keys(transitions) as TransitionName[]) {
        if (name === 'begin') continue;
        const isOwners = transitions[name].by === 'owner';
        if (isOwners && from.instance !== '' && owners.get(from.instance) !== process) continue;
        const moved = applyTransition(name, from, { epoch: from.epoch, instance: after.instance, holds });
        if (!moved || isSame(moved, from)) continue;
        if (isSame(moved, after)) return name;
        const rest = most > 1 ? find({ ...from, ...moved }, most - 1) : undefined;
        if (rest) return `${name} and ${rest}`;
      }
      return undefined;
    };
    // Several writes of a process may share a transaction.
    const found = find(row, 1) ?? find(row, 2);
    if (!found)
      fail(`${process} changed a run as no transition says: ${JSON.stringify(row)} to ${JSON.stringify(after)}`);
    world.note(`  ${found} of run ${row.number}`);
  }

  function mayWrite(runId: string, what: string): Row {
    const row = before.runs.get(runId) ?? fail(`${what} of a run that is not there`);
    const process = world.process()?.name;
    if (hasEnded(row)) fail(`${what} of run ${row.number}, which has ended`);
    if (row.instance !== '' && owners.get(row.instance) !== process)
      fail(`${what} of run ${row.number} by ${process}, which does not own it`);
    return row;
  }

  const witness: Witness = {
    toolStarts({ tag, name, isAborted }: ToolStart): void {
      const runId = runOf(tag) ?? fail(`a tool of ${tag} starts, which is not stored`);
      world.note(`  ${name} of ${tag} starts`);
      const times = (starts.get(`${tag} ${name}`) ?? 0) + 1;
      starts.set(`${tag} ${name}`, times);
      if (isAborted) fail(`${name} of ${tag} starts although its signal has fired`);
      if (times > 1 && name !== 'look') fail(`${name} of ${tag} starts twice`);
      const steps = [...before.steps.values()].filter((step) => step.runId === runId);
      if (steps.length === 0) fail(`${name} of ${tag} starts before its step is stored`);
      const row = before.runs.get(runId);
      // Who has lost the run may learn it late.
      if (row && row.status !== 'running' && !hasEnded(row) && owners.get(row.instance) === world.process()?.name)
        fail(`${name} of ${tag} starts while its run is ${row.status}`);
      const asked = [...before.approvals.values()].filter((approval) => approval.runId === runId);
      if (name === 'sign' && !asked.some(({ status }) => status === 'approved'))
        fail(`${name} of ${tag} starts unapproved`);
    },
    turnEnds({ sendId, status, runId }): void {
      if (runId !== undefined) heard.add(runId);
      const row = runId === undefined ? undefined : before.runs.get(runId);
      if (row && !(hasEnded(row) && owners.get(row.instance) === world.process()?.name)) {
        // An owner that could not store the end reports a failure; whoever stores it reports it again.
        if (status !== 'failed') fail(`plugins hear that run ${row.number} is ${status}, and it is ${row.status}`);
        return;
      }
      const name = runId ?? sendId;
      if (ends.has(name)) fail(`plugins hear the end of ${row ? `run ${row.number}` : 'a message'} twice`);
      ends.add(name);
      if (row && row.status !== status && status !== 'failed')
        fail(`plugins hear that run ${row.number} is ${status}, and it is ${row.status}`);
    },
  };

  function runOf(tag: string): string | undefined {
    const rows = select.question.all() as { runId: string; content: string }[];
    return rows.find(({ content }) => tagOf(content) === tag)?.runId;
  }

  return {
    witness,
    taken,
    runOf,
    own: (instance: string, process: string) => void owners.set(instance, process),
    pending: (): ApprovalRow[] => [...before.approvals.values()].filter(({ status }) => status === 'pending'),
    runs: () => [...before.runs.values()],
    hasEnded: () => [...before.runs.values()].every(hasEnded),
    abortAsked: (runId: string) => void abortsAsked.add(runId),
    replacementAsked: (message: Sent) => void replacementsAsked.push(message),
    abortConfirmed: (runId: string) => void aborted.add(runId),

    /** A message that takes the place of this one is confirmed. */
    replaced({ tag, runIds }: Sent): void {
      for (const id of runIds) {
        const row = before.runs.get(id);
        if (row && !hasEnded(row) && !row.isAborting) fail(`${tag} continues although it is replaced`);
      }
    },

    /** What a reader gets of a run, event by event. */
    reads(runId: string): (event: RunEvent) => void {
      const events: RunEvent[] = [];
      readers.push({ runId, events });
      return (event) => {
        const last = events.at(-1);
        const isEnd = event.name === 'done' || event.name === 'error';
        if (event.id !== (last?.id ?? 0) + 1 && !isEnd) fail(`a reader gets event ${event.id} after ${last?.id}`);
        events.push(event);
        const status = before.runs.get(runId)?.status;
        // What could not be stored is failed for its reader, and the error before says so.
        if (event.name === 'done' && event.data.status !== status && event.data.status !== 'failed')
          fail(`a reader gets that a run is ${event.data.status} while it is ${status}`);
      };
    },

    /** After everything that may have changed the database. */
    check(what: string, tables: ReadonlySet<string>): void {
      if (!watched.some((table) => tables.has(table))) return;
      const { n } = select.changes.get() as { n: number };
      if (n === seen) return;
      seen = n;
      const after = read(tables);
      for (const [id, row] of after.runs) {
        const known = before.runs.get(id);
        if (known && !isSame(known, row)) explain(known, row);
        if (!known) {
          const earlier = [...after.runs.values()].filter(
            ({ session, number }) => session === row.session && number < row.number,
          );
          // Ends and begins that are committed together may be in either order.
          const mayRun = earlier.every(hasEnded);
          const mayWait = earlier.some(({ id }) => !hasEnded(before.runs.get(id) ?? row));
          // One that is replaced by the next may begin in the same transaction.
          const isReplaced = [...after.runs.values()].some(
            ({ session, number }) => session === row.session && number > row.number,
          );
          if (
            !(row.status === 'running' ? mayRun : mayWait) ||
            row.epoch !== 1 ||
            (row.isAborting && !(isReplaced && replacementsAsked.length > 0))
          )
            fail(`run ${row.number} begins as ${row.status}${row.isAborting ? ', aborted' : ''}`);
        }
      }
      for (const id of before.runs.keys()) if (!after.runs.has(id)) fail('a run is gone');
      for (const [key, step] of after.steps) {
        const known = before.steps.get(key);
        if (!known) {
          const row = mayWrite(step.runId, 'a step');
          if (row.isAborting) fail(`a step of run ${row.number} is stored after its abort`);
        } else if (known.outcomes !== step.outcomes) {
          mayWrite(step.runId, 'an outcome');
          if (known.outcomes !== null) fail(`the outcomes of ${key} change`);
        }
      }
      for (const [id, approval] of after.approvals) {
        const known = before.approvals.get(id);
        if (!known) mayWrite(approval.runId, 'an approval');
        else if (known.status !== approval.status && known.status !== 'pending') fail(`approval ${id} changes again`);
        else if (known.status === 'pending' && approval.status === 'approved') {
          const row = before.runs.get(approval.runId);
          if (!row || hasEnded(row) || row.isAborting) fail('an approval of a run that has ended or is aborted');
        }
      }
      for (const [runId, last] of after.frames)
        if (last > (before.frames.get(runId) ?? 0) && before.runs.has(runId)) mayWrite(runId, 'a frame');
      const active = [...after.runs.values()].filter(({ status }) => status === 'running' || status === 'waiting');
      if (new Set(active.map(({ session }) => session)).size < active.length) fail('two runs of a session run at once');
      before = after;
      for (const name of what.split('+')) if (name in transitions) count(name as TransitionName);
    },

    /** `isCalm`: nothing goes wrong, and everybody is there. */
    checkQueue(isCalm: boolean): void {
      for (const row of before.runs.values()) {
        const isFirst =
          row.status === 'queued' &&
          isCalm &&
          ![...before.runs.values()].some(
            (other) => other.session === row.session && other.number < row.number && !hasEnded(other),
          );
        const since = isFirst ? (firstSince.get(row.id) ?? world.elapsedMs()) : undefined;
        if (since === undefined) firstSince.delete(row.id);
        else firstSince.set(row.id, since);
        if (since !== undefined && world.elapsedMs() > since + 15_000)
          fail(`run ${row.number} is queued and nothing is before it`);
      }
    },

    /** Scheduled tasks that are not over. */
    activeTasks: () => (select.tasks.all() as unknown as TaskRow[]).filter(({ status }) => status === 'active'),

    /** Once nothing goes wrong any more and there was time for everything. */
    checkEnd(sent: Sent[], hasLostProcess: boolean): void {
      for (const { tag, runIds } of sent) {
        if (runIds.size > 1) fail(`${tag} has ${runIds.size} runs`);
        for (const id of runIds) {
          const row = before.runs.get(id) ?? fail(`${tag} was confirmed and is not stored`);
          if (!hasEnded(row)) fail(`${tag} was confirmed and is ${row.status} for ever`);
        }
      }
      const questions = (select.question.all() as { content: string }[]).map(({ content }) => tagOf(content));
      for (const { prompt, status } of select.tasks.all() as unknown as TaskRow[]) {
        const times = questions.filter((tag) => tag === tagOf(prompt)).length;
        if (times > 1) fail(`task ${prompt} is sent ${times} times`);
        if (status === 'done' && times === 0) fail(`task ${prompt} is done and was not sent`);
        if (status === 'active') fail(`task ${prompt} is never done`);
      }
      for (const row of before.runs.values()) {
        if (aborted.has(row.id) && row.status !== 'aborted')
          fail(`run ${row.number} is ${row.status} after its abort was confirmed`);
        if (!hasEnded(row)) fail(`run ${row.number} is ${row.status} for ever`);
        const answers = select.answer.all(row.id) as { status: string }[];
        if (answers.length !== 1 || answers[0]?.status !== row.status)
          fail(`run ${row.number} is ${row.status} and its answer is ${JSON.stringify(answers)}`);
        checkFrames(row);
        const { tokens, steps } = select.usage.get(row.id) as { tokens: number; steps: number };
        if (row.status === 'complete' && tokens !== tokensPerCall * (steps + 1))
          fail(`run ${row.number} has used ${tokens} tokens in ${steps + 1} calls of the model`);
        if (!hasLostProcess && !heard.has(row.id)) fail(`plugins never hear the end of run ${row.number}`);
      }
    },
  };

  function checkFrames(row: Row): void {
    let last = 0;
    let text = '';
    for (const frames of select.frames.all(row.id) as { first: number; last: number; body: string }[]) {
      if (frames.first !== last + 1) fail(`the frames of run ${row.number} go from ${last} to ${frames.first}`);
      last = frames.last;
      text += frames.body;
    }
    const numbers = [...text.matchAll(/^id: (\d+)$/gm)].map(([, number]) => Number(number));
    if (numbers.some((number, at) => number !== at + 1))
      fail(`the frames of run ${row.number} are numbered ${numbers}`);
    const done = [...text.matchAll(/^event: done\nid: \d+\ndata: (.*)$/gm)].map(
      ([, data]) => JSON.parse(data ?? '{}').status,
    );
    if (done.length !== 1 || done[0] !== row.status)
      fail(`run ${row.number} is ${row.status} and its frames end with ${JSON.stringify(done)}`);
    const stored = splitFrames(text).map(parseFrame);
    for (const { runId, events } of readers) {
      if (runId !== row.id) continue;
      for (const { id, name, data } of events) {
        const frame = stored[id - 1];
        // An owner that cannot reach the database says so, and cannot know that another one continues.
        const isCutOff = events.some((event) => event.name === 'error' && /could not be stored/.test(event.data.error));
        if (name === 'done' && id < stored.length && !isCutOff)
          fail(`a reader of run ${row.number} gets its end as event ${id}`);
        // An owner that died may have sent what it had no time to store; another one continues with other frames.
        const isSame = name === frame?.name && JSON.stringify(data) === JSON.stringify(frame.data);
        if (row.epoch === 1 && name !== 'done' && name !== 'error' && !isSame)
          fail(`a reader of run ${row.number} gets ${name} as event ${id}, which is ${frame?.name}`);
      }
    }
  }
}
