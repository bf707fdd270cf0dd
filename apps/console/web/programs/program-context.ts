import { createContext, use } from 'react';
import { type ChangeFiles, setField } from './edit-program.ts';
import type { Path, ProgramModel } from './read-program.ts';

interface OpenProgram {
  model: ProgramModel;
  selected: string | undefined;
  select(state: string): void;
  change: ChangeFiles;
  mayEdit: boolean;
}

export const ProgramContext = createContext<OpenProgram | undefined>(undefined);

export function useProgram(): OpenProgram {
  const program = use(ProgramContext);
  if (!program) throw new Error('no program is open');
  return program;
}

/** The selected state. `set` with `undefined` removes a field. */
export function useSelectedState() {
  const { model, selected = '', change } = useProgram();
  const { files } = model;
  const state = model.states.get(selected);
  if (!state) throw new Error('no state is selected');
  return {
    model,
    files,
    state,
    change,
    set: (path: Path, value: unknown) => change(() => setField(files, state, path, value)),
  };
}
