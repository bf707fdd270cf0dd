// One file: the states of a run, every step that may follow, and what must hold, read beside each other.
import { type Condition, endings, type TransitionName } from '../../src/runs/transitions.ts';
import { applyTransition, type RunRow } from './apply-transition.ts';
import type { Model, Step } from './explore.ts';

/** What the model of a run does after its message: it calls a tool and answers, or it answers at once. */
export type Script = 'talk' | 'tool' | 'repeatable tool' | 'approved tool';

export interface Limits {
  instances: number;
  /** The runs of one session. */
  scripts: Script[];
  /** Each run replaces the message before it. */
  replaces?: boolean;
  aborts?: number;
  crashes?: number;
  /** How often a heartbeat comes too late, while the instance may do everything else. */
  pauses?: number;
  /** How often a write fails: before its commit, after it, or with a commit that comes at any time later. */
  faults?: number;
  /** How often an instance gives up a run because it stops. */
  handovers?: number;
}

/** A run's row and what belongs to it in other tables. */
interface Stored extends RunRow {
  isStored: boolean;
  /** Its place in the session; 0 before it is stored. */
  number: number;
  /** Its one step: not stored, stored before the tool starts, or stored with the outcome. */
  step: 'none' | 'open' | 'done';
  approval: 'none' | 'pending' | 'approved' | 'refused';
  isCharged: boolean;
}

/** What happened outside of the database. */
interface Seen {
  isSent: boolean;
  isConfirmed: boolean;
  isAbortConfirmed: boolean;
  toolStarts: number;
  charges: number;
  broken?: string;
}

const places = [
  'away',
  /** The outcome of its begin is unknown. */
  'beginning',
  'queued',
  /** The model is asked. */
  'deciding',
  /** The step is stored, its tool is about to start. */
  'calling',
  'called',
  'waiting',
  'answering',
  /** The answer is there, and the write that ends the run is tried again. */
  'complete',
  'fail',
  'stop',
  /** The same after the reader was sent an error, because the end could not be stored in time. */
  'late fail',
] as const;
type Place = (typeof places)[number];

/** A run on an instance. */
interface Local {
  at: Place;
  epoch: number;
  /** The sweep ends it, and tries once. */
  isSwept: boolean;
}

interface Instance {
  /** Others take it for dead. */
  isLate: boolean;
  runs: Local[];
}

interface Write {
  name: TransitionName;
  run: number;
  epoch: number;
  instance: string;
}

interface State {
  stored: Stored[];
  seen: Seen[];
  instances: Instance[];
  /** Writes that have failed for their callers, and may be committed yet. */
  flying: Write[];
  left: { aborts: number; crashes: number; pauses: number; faults: number; handovers: number };
}

/** What others than the owner of a run may write of it. */
const unowned: TransitionName[] = ['begin', 'abort', 'replace'];
/** The name of every instance that has died. */
const dead = 'dead';
const away: Local = { at: 'away', epoch: 0, isSwept: false };
const hasEnded = ({ status }: RunRow) => (endings as readonly string[]).includes(status);
const isActive = ({ at }: Local) => !['away', 'beginning', 'complete', 'fail', 'stop', 'late fail'].includes(at);

/** The runs of one session, on several instances that share a database. Time is left out: what may come late may come at any time. */
export function createRunModel(limits: Limits): Model<State> {
  const { scripts } = limits;

  const start: State = {
    stored: scripts.map(() => ({
      isStored: false,
      number: 0,
      step: 'none',
      approval: 'none',
      isCharged: false,
      status: 'queued',
      instance: '',
      epoch: 0,
      deaths: 0,
      isAborting: false,
    })),
    seen: scripts.map(() => ({
      isSent: false,
      isConfirmed: false,
      isAbortConfirmed: false,
      toolStarts: 0,
      charges: 0,
    })),
    instances: Array.from({ length: limits.instances }, () => ({
      isLate: false,
      runs: scripts.map(() => away),
    })),
    flying: [],
    left: {
      aborts: limits.aborts ?? 0,
      crashes: limits.crashes ?? 0,
      pauses: limits.pauses ?? 0,
      faults: limits.faults ?? 0,
      handovers: limits.handovers ?? 0,
    },
  };

  function holds(state: State, { run, instance }: Write, condition: Condition): boolean {
    const row = state.stored[run] as Stored;
    switch (condition) {
      case 'not-aborting':
        return !row.isAborting;
      case 'first-of-session':
        return state.stored.every((other) => !other.isStored || other.number >= row.number || hasEnded(other));
      case 'nothing-pending':
        return row.approval !== 'pending';
      case 'owner-dead':
        if (row.instance === instance) return false;
        return row.instance === '' || row.instance === dead || (state.instances[Number(row.instance)]?.isLate ?? false);
      case 'replaced':
        return limits.replaces === true;
      case 'older-than-request':
        return true;
    }
  }

  /** Commits a write; false if the row is not as the table asks. */
  function commit(state: State, write: Write): boolean {
    const { name, run, epoch, instance } = write;
    const row = state.stored[run] as Stored;
    const seen = state.seen[run] as Seen;
    if (name === 'begin') {
      if (row.isStored) return false;
      const before = [...state.stored.keys()].filter((other) => state.stored[other]?.isStored);
      const status = before.every((other) => hasEnded(state.stored[other] as Stored)) ? 'running' : 'queued';
      Object.assign(row, { isStored: true, number: before.length + 1, status, instance, epoch: 1 });
      for (const other of before) {
        const isReplaced = commit(state, { name: 'replace', run: other, epoch: 0, instance: '' });
        (state.seen[other] as Seen).isAbortConfirmed ||= isReplaced;
      }
      return true;
    }
    if (!row.isStored) return false;
    const moved = applyTransition(name, row, { epoch, instance, holds: (asked) => holds(state, write, asked) });
    if (!moved) return false;
    if (!unowned.includes(name) && epoch !== row.epoch) seen.broken = `${name} by an owner that was replaced`;
    if (seen.isAbortConfirmed && ['start', 'step', 'ask', 'resume'].includes(name))
      seen.broken = `${name} after a confirmed abort`;
    Object.assign(row, moved);
    if (name === 'step' && row.step === 'none') row.step = 'open';
    if (name === 'ask') Object.assign(row, { step: 'open', approval: 'pending' });
    if (name === 'outcomes') row.step = 'done';
    return true;
  }

  return {
    start,

    steps(state) {
      const steps: Step<State>[] = [];
      function add(label: string, by: Step<State>['by'], change: (next: State) => void): void {
        const next = clone(state);
        change(next);
        steps.push({ label, by, state: next });
      }

      /** A write with everything that may become of it. `then` gets whether it had an effect, `failed` is what its caller does without a reply. */
      function write(
        who: string,
        by: Step<State>['by'],
        made: Write,
        then: (next: State, isDone: boolean) => void,
        failed: (next: State) => void,
      ): void {
        const label = `${made.name}: of run ${made.run} by ${who}`;
        add(label, by, (next) => then(next, commit(next, made)));
        if (state.left.faults === 0) return;
        const lose = (how: string, change: (next: State) => void) =>
          add(`${label}, ${how}`, 'fault', (next) => {
            next.left.faults -= 1;
            change(next);
            failed(next);
          });
        lose('fails', () => {});
        lose('whose reply is lost', (next) => void commit(next, made));
        lose('whose reply is lost, and that comes later', (next) => void next.flying.push(made));
      }

      for (const [run, row] of state.stored.entries()) {
        const seen = state.seen[run] as Seen;
        if (row.isStored && !hasEnded(row) && !row.isAborting && state.left.aborts > 0) {
          const confirm = (next: State, isDone: boolean) => {
            next.left.aborts -= 1;
            (next.seen[run] as Seen).isAbortConfirmed ||= isDone;
          };
          const made: Write = { name: 'abort', run, epoch: 0, instance: '' };
          write('the user', 'user', made, confirm, (next) => confirm(next, false));
        }
        if (row.approval === 'pending') {
          const answer = (approval: 'approved' | 'refused') => (next: State) =>
            void Object.assign(next.stored[run] as Stored, { approval });
          if (!hasEnded(row) && !row.isAborting) add(`approve: run ${run}`, 'user', answer('approved'));
          add(`expire: the approval of run ${run}`, 'system', answer('refused'));
        }
        if (!seen.isSent && (run === 0 || state.seen[run - 1]?.isSent))
          for (const id of state.instances.keys()) {
            const made: Write = { name: 'begin', run, epoch: 0, instance: String(id) };
            write(
              `instance ${id}`,
              'user',
              made,
              (next) => take(next, id, run, { isConfirmed: true }),
              (next) => {
                (next.seen[run] as Seen).isSent = true;
                setLocal(next, id, run, { ...away, at: 'beginning' });
              },
            );
          }
      }
      for (const [index, made] of state.flying.entries())
        add(`commit: a late ${made.name} of run ${made.run}`, 'system', (next) => {
          next.flying.splice(index, 1);
          commit(next, made);
        });

      for (const [id, instance] of state.instances.entries()) {
        if (instance.isLate)
          add(
            `beat: instance ${id}`,
            'system',
            (next) => void Object.assign(next.instances[id] as Instance, { isLate: false }),
          );
        else if (state.left.pauses > 0)
          add(`pause: instance ${id} looks dead`, 'fault', (next) => {
            next.left.pauses -= 1;
            (next.instances[id] as Instance).isLate = true;
          });
        if (state.left.crashes > 0) add(`crash: instance ${id}`, 'fault', (next) => crash(next, id));
        for (const run of scripts.keys()) addRunSteps(id, run);
      }
      return steps;

      /** What an instance does with a run. */
      function addRunSteps(id: number, run: number): void {
        const row = state.stored[run] as Stored;
        const local = state.instances[id]?.runs[run] as Local;
        const { at, epoch } = local;
        const script = scripts[run];
        const move = (place: Place) => (next: State) => setLocal(next, id, run, { ...local, at: place });
        const leave = (next: State) => setLocal(next, id, run, away);
        const own = (name: TransitionName) => ({ name, run, epoch, instance: String(id) });
        const owner = `instance ${id}`;
        /** As `findStop` and `hasMoved`: what a refused write means. */
        const refused = (next: State) => {
          const now = next.stored[run] as Stored;
          if (now.epoch > epoch || hasEnded(now)) leave(next);
          else move(now.isAborting ? 'stop' : 'fail')(next);
        };

        if (isActive(local)) {
          if (row.isAborting) add(`notice: the abort of run ${run} on ${owner}`, 'system', move('stop'));
          if (row.epoch > epoch) add(`leave: run ${run} on ${owner}, which has another owner`, 'system', leave);
          if (['deciding', 'calling', 'called', 'answering'].includes(at) && state.left.faults > 0)
            add(`time out: run ${run} on ${owner}`, 'fault', (next) => {
              next.left.faults -= 1;
              move('fail')(next);
            });
          if (['queued', 'deciding', 'waiting', 'answering'].includes(at) && state.left.handovers > 0) {
            const handOver = (next: State, isDone: boolean) => {
              next.left.handovers -= 1;
              if (isDone) leave(next);
              else refused(next);
            };
            write(owner, 'fault', own('release'), handOver, (next) => {
              next.left.handovers -= 1;
              move('fail')(next);
            });
          }
        }

        switch (at) {
          case 'away':
            if (!row.isStored || hasEnded(row)) return;
            if (row.instance === String(id)) {
              const found = { ...own('release'), epoch: row.epoch };
              write(
                owner,
                'system',
                found,
                () => {},
                () => {},
              );
              return;
            }
            if (row.status === 'waiting' && !row.isAborting && row.approval === 'pending') return;
            write(
              owner,
              'system',
              { ...own('claim'), epoch: row.epoch },
              (next, isDone) => isDone && inherit(next, id, run),
              () => {},
            );
            return;
          case 'beginning':
            add(`give up: the begin of run ${run} on ${owner}`, 'fault', leave);
            write(
              owner,
              'system',
              own('begin'),
              (next, isDone) => {
                const { status, epoch: now } = next.stored[run] as Stored;
                const isOwn = isDone || (now === 1 && (status === 'queued' || status === 'running'));
                if (isOwn) take(next, id, run, { isConfirmed: true });
                else leave(next);
              },
              () => {},
            );
            return;
          case 'queued':
            write(
              owner,
              'system',
              own('start'),
              (next, isDone) => {
                const now = next.stored[run] as Stored;
                if (isDone) move('deciding')(next);
                else if (now.isAborting || now.epoch > epoch || hasEnded(now)) refused(next);
              },
              () => {},
            );
            return;
          case 'deciding': {
            if (script === 'talk') {
              end('complete');
              return;
            }
            const isAsked = script === 'approved tool';
            const done = move(isAsked ? 'waiting' : 'calling');
            const then = (next: State, isDone: boolean) => (isDone ? done(next) : refused(next));
            write(owner, 'system', own(isAsked ? 'ask' : 'step'), then, move('fail'));
            return;
          }
          case 'waiting':
            if (row.approval === 'pending') return;
            write(
              owner,
              'system',
              own('resume'),
              (next, isDone) => {
                const now = next.stored[run] as Stored;
                if (isDone) move('calling')(next);
                else if (now.isAborting || now.epoch > epoch || hasEnded(now)) refused(next);
              },
              () => {},
            );
            return;
          case 'calling':
            add(`tool: of run ${run} on ${owner}`, 'system', (next) => {
              if (script !== 'approved tool' || row.approval === 'approved') (next.seen[run] as Seen).toolStarts += 1;
              move('called')(next);
            });
            return;
          case 'called':
            write(
              owner,
              'system',
              own('outcomes'),
              (next, isDone) => (isDone ? move('answering')(next) : refused(next)),
              move('fail'),
            );
            return;
          case 'answering':
            end('complete');
            return;
          case 'complete':
          case 'fail':
          case 'stop':
            if (!local.isSwept && state.left.faults < (limits.faults ?? 0))
              add(`not stored: the end of run ${run} on ${owner}`, 'fault', (next) => {
                charge(next, run);
                move('late fail')(next);
              });
            end(at);
            return;
          case 'late fail':
            end('fail');
            return;
        }

        function end(name: 'complete' | 'fail' | 'stop'): void {
          write(
            owner,
            'system',
            own(name),
            (next, isDone) => {
              const now = next.stored[run] as Stored;
              const isStored = isDone || (now.epoch === epoch && hasEnded(now) && !local.isSwept);
              if (isStored && at !== 'late fail') charge(next, run);
              leave(next);
            },
            local.isSwept ? leave : at === 'late fail' ? () => {} : move(name),
          );
        }
      }
    },

    findViolation({ stored, seen, instances }) {
      for (const [run, row] of stored.entries()) {
        const { broken, toolStarts, charges, isConfirmed, isAbortConfirmed } = seen[run] as Seen;
        if (broken) return `run ${run}: ${broken}`;
        if (toolStarts > 1 && scripts[run] !== 'repeatable tool') return `run ${run}: its tool starts twice`;
        if (toolStarts > 0 && row.step === 'none') return `run ${run}: its tool starts before its step is stored`;
        if (charges > 1) return `run ${run}: charged twice`;
        if (isConfirmed && !row.isStored) return `run ${run}: confirmed and not stored`;
        if (isAbortConfirmed && hasEnded(row) && row.status !== 'aborted')
          return `run ${run}: ${row.status} after a confirmed abort`;
        const owners = instances.filter(({ runs }) => {
          const { at, epoch } = runs[run] as Local;
          return at !== 'away' && at !== 'beginning' && epoch === row.epoch;
        });
        if (owners.length > 1) return `run ${run}: two owners`;
      }
      const begun = stored.filter((row) => row.isStored && ['running', 'waiting'].includes(row.status));
      return begun.length > 1 ? 'two runs of the session run at once' : undefined;
    },

    isDone: ({ stored, instances, flying }) =>
      stored.every((row) => !row.isStored || hasEnded(row)) &&
      instances.every(({ runs }) => runs.every(({ at }) => at === 'away')) &&
      flying.length === 0,

    encode: encodeState,
  };

  /** The begin is known to be committed: the instance carries the run out. */
  function take(next: State, id: number, run: number, { isConfirmed }: { isConfirmed: boolean }): void {
    const { status, epoch } = next.stored[run] as Stored;
    Object.assign(next.seen[run] as Seen, { isSent: true, isConfirmed });
    setLocal(next, id, run, { ...away, at: status === 'queued' ? 'queued' : 'deciding', epoch });
  }

  /** After a claim: continues the run, or ends it where something would happen twice. */
  function inherit(next: State, id: number, run: number): void {
    const { status, step, isAborting, deaths, epoch } = next.stored[run] as Stored;
    const isHeld = status === 'running' && step === 'open' && scripts[run] !== 'repeatable tool';
    if (isAborting || isHeld || deaths >= 2) {
      setLocal(next, id, run, { ...away, at: isAborting ? 'stop' : 'fail', epoch, isSwept: true });
      return;
    }
    const running: Place = step === 'none' ? 'deciding' : step === 'open' ? 'calling' : 'answering';
    setLocal(next, id, run, {
      ...away,
      at: status === 'running' ? running : status === 'queued' ? 'queued' : 'waiting',
      epoch,
    });
  }
}

/** The ledger books an answer under its own key. */
function charge(next: State, run: number): void {
  const row = next.stored[run] as Stored;
  if (!row.isCharged) (next.seen[run] as Seen).charges += 1;
  row.isCharged = true;
}

function setLocal(next: State, id: number, run: number, local: Local): void {
  (next.instances[id] as Instance).runs[run] = local;
}

/** Its next process has another name, so nothing of the old one is its own. It may be up at once, and do nothing for long. */
function crash(next: State, id: number): void {
  const { runs } = next.instances[id] as Instance;
  next.left.crashes -= 1;
  next.instances[id] = { isLate: false, runs: runs.map(() => away) };
  for (const named of [...next.stored, ...next.flying]) if (named.instance === String(id)) named.instance = dead;
}

function clone({ stored, seen, instances, flying, left }: State): State {
  return {
    stored: stored.map((row) => ({ ...row })),
    seen: seen.map((of) => ({ ...of })),
    instances: instances.map((instance) => ({ ...instance, runs: [...instance.runs] })),
    flying: flying.map((write) => ({ ...write })),
    left: { ...left },
  };
}

/**
 * Instances have no names in it: they are in the order of what they are and what they own. Of epochs it matters only which
 * is the newest, and which the first.
 */
function encodeState({ stored, seen, instances, flying, left }: State): string {
  const bit = (value: boolean) => (value ? '1' : '0');
  const isNewest = (run: number, epoch: number) => epoch === stored[run]?.epoch;
  const described = instances.map(({ isLate, runs }, index) => {
    const id = String(index);
    const locals = runs.map(({ at, epoch, isSwept }, run) =>
      at === 'away'
        ? '-'
        : `${String.fromCharCode(97 + places.indexOf(at))}${bit(isNewest(run, epoch))}${bit(isSwept)}`,
    );
    const owned = stored.map(({ instance }) => bit(instance === id)).join('');
    const sent = flying.map(({ instance }) => bit(instance === id)).join('');
    return `${bit(isLate)}${locals.join('')}${owned}${sent}`;
  });
  const rows = stored.map((row, run) => {
    const { isSent, isConfirmed, isAbortConfirmed, toolStarts, charges } = seen[run] as Seen;
    const owner = row.instance === '' ? '-' : row.instance === dead ? 'x' : 'o';
    const facts = [isSent, isConfirmed, isAbortConfirmed, row.isStored, row.isAborting, row.isCharged]
      .map(bit)
      .join('');
    return `${row.status[0]}${row.status[1]}${owner}${row.number}${bit(row.epoch === 1)}${Math.min(row.deaths, 2)}${row.step[0]}${row.approval.slice(0, 3)}${facts}${toolStarts}${charges}`;
  });
  const late = flying.map(
    ({ name, run, epoch, instance }) => `${name}${run}${bit(isNewest(run, epoch))}${bit(instance === dead)}`,
  );
  return `${described.sort().join('|')}/${rows.join('|')}/${late.join('|')}/${Object.values(left).join('')}`;
}
