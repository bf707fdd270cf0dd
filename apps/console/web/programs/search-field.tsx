import { t } from '../i18n/text.ts';
import { NameOptions } from './editor-fields.tsx';
import { type ProgramModel, sayIn } from './read-program.ts';

interface SearchProps {
  model: ProgramModel;
  found: ReadonlySet<string> | undefined;
  search: string;
  onSearch(search: string): void;
  onSelect(state: string): void;
}

export function Search({ model, found, search, onSearch, onSelect }: SearchProps) {
  return (
    <label className="field">
      <span>{t('programs.find')}</span>
      <input
        type="search"
        list="program-states"
        value={search}
        onChange={(event) => {
          onSearch(event.target.value);
          if (model.states.has(event.target.value)) onSelect(event.target.value);
        }}
        onKeyDown={(event) => {
          const [first] = found ?? [];
          if (event.key === 'Enter' && first !== undefined) onSelect(first);
        }}
      />
      <datalist id="program-states">
        <NameOptions names={[...model.states.keys()].join('\n')} />
      </datalist>
    </label>
  );
}

/** The states whose name or text in any language has the words. */
export function findStates(model: ProgramModel, search: string): Set<string> | undefined {
  const words = search.trim().toLowerCase();
  if (words === '') return undefined;
  const matches = [...model.states.values()].filter(({ name, raw }) =>
    [name, ...model.languages.map((language) => sayIn(model, raw.text, language))].some((text) =>
      text.toLowerCase().includes(words),
    ),
  );
  return new Set(matches.map(({ name }) => name));
}
