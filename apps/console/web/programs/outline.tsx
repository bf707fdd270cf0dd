import { type KeyboardEvent, useMemo, useRef, useState } from 'react';
import { t } from '../i18n/text.ts';
import { findNeighbour, isMovable, moveAfter } from './edit-flow.ts';
import type { StateHeat } from './heat.ts';
import { titleOf } from './kinds.ts';
import { useProgram } from './program-context.ts';
import { orderStates, type ProgramModel, sayIn, sayLink } from './read-program.ts';

interface OutlineProps {
  problems: ReadonlyMap<string, number>;
  heat: ReadonlyMap<string, StateHeat>;
  found: ReadonlySet<string> | undefined;
}

interface Row {
  id: string;
  state: string;
  level: number;
  by: string;
  hasChildren: boolean;
  isRepeated: boolean;
}

export function Outline({ problems, heat, found }: OutlineProps) {
  const { model, selected, select, change, mayEdit } = useProgram();
  const [dragged, setDragged] = useState<string>();
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [current, setCurrent] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const rows = useMemo(() => toRows(model, closed), [model, closed]);
  const shown = found ? rows.filter(({ state, isRepeated }) => found.has(state) && !isRepeated) : rows;
  const at = Math.min(current, shown.length - 1);

  function focus(index: number): void {
    const next = Math.max(0, Math.min(index, shown.length - 1));
    setCurrent(next);
    list.current?.querySelectorAll<HTMLElement>('[role=treeitem]')[next]?.focus();
  }
  function toggle(row: Row, isOpen: boolean): void {
    const next = new Set(closed);
    if (isOpen) next.delete(row.id);
    else next.add(row.id);
    setClosed(next);
  }
  function move(state: string, after: string | undefined): void {
    if (mayEdit && after !== undefined && change(() => moveAfter(model.files, state, after))) select(state);
  }
  function press(event: KeyboardEvent, row: Row, index: number): void {
    if (event.altKey && (event.key === 'ArrowUp' || event.key === 'ArrowDown')) {
      event.preventDefault();
      move(row.state, findNeighbour(model, row.state, event.key === 'ArrowUp' ? 'up' : 'down'));
      return;
    }
    const isOpen = row.hasChildren && !closed.has(row.id);
    const parent = shown.findLastIndex(({ level }, i) => i < index && level < row.level);
    const places: Record<string, number> = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: shown.length - 1 };
    const place = places[event.key];
    if (place !== undefined) focus(place);
    else if (event.key === 'Enter' || event.key === ' ') select(row.state);
    else if (event.key === 'ArrowLeft' && isOpen) toggle(row, false);
    else if (event.key === 'ArrowLeft') focus(parent);
    else if (event.key === 'ArrowRight' && row.hasChildren && !isOpen) toggle(row, true);
    else if (event.key === 'ArrowRight') focus(index + 1);
    else return;
    event.preventDefault();
  }

  return (
    <div className="outline" role="tree" aria-label={t('programs.outlineOf', { name: model.name })} ref={list}>
      {shown.map((row, index) => {
        const { id, state, level, by, hasChildren, isRepeated } = row;
        const kind = model.states.get(state)?.kind ?? 'outside';
        const faults = problems.get(state) ?? 0;
        const stateHeat = heat.get(state);
        return (
          <div
            key={id}
            role="treeitem"
            className={`outline-row outline-level-${Math.min(level, 9)}`}
            aria-level={level}
            aria-selected={state === selected}
            aria-expanded={hasChildren ? !closed.has(id) : undefined}
            tabIndex={index === at ? 0 : -1}
            aria-keyshortcuts={mayEdit ? 'Alt+ArrowUp Alt+ArrowDown' : undefined}
            draggable={mayEdit && isMovable(model.states.get(state))}
            data-target={dragged !== undefined && dragged !== state && isMovable(model.states.get(state))}
            onDragStart={(event) => {
              event.dataTransfer.setData('text/plain', state);
              setDragged(state);
            }}
            onDragEnd={() => setDragged(undefined)}
            onDragOver={(event) => dragged !== undefined && event.preventDefault()}
            onDrop={(event) => {
              event.preventDefault();
              if (dragged !== undefined) move(dragged, state);
              setDragged(undefined);
            }}
            onKeyDown={(event) => press(event, row, index)}
            onClick={() => {
              setCurrent(index);
              select(state);
            }}
          >
            {by && (
              <span className="outline-by" dir="auto">
                {by}
              </span>
            )}
            <strong>{state}</strong>
            <span className="badge">{titleOf(kind)}</span>
            {isRepeated ? (
              <span className="quiet small">{t('programs.seeAbove')}</span>
            ) : (
              <span className="outline-text" dir="auto">
                {sayIn(model, model.states.get(state)?.raw.text)}
              </span>
            )}
            {stateHeat && !isRepeated && <span className="badge badge-warn numbers">{stateHeat.label()}</span>}
            {faults > 0 && !isRepeated && (
              <span className="badge badge-danger">{t('programs.problems', { count: faults })}</span>
            )}
          </div>
        );
      })}
    </div>
  );
}

function toRows(model: ProgramModel, closed: ReadonlySet<string>): Row[] {
  const rows: Row[] = [];
  const seen = new Set<string>();
  const add = (state: string, place: { level: number; by: string; path: string; isHidden: boolean }) => {
    const { level, by, path, isHidden } = place;
    const id = `${path}/${state}`;
    const links = model.states.get(state)?.links ?? [];
    const isRepeated = seen.has(state);
    const hasChildren = !isRepeated && links.length > 0;
    seen.add(state);
    if (!isHidden) rows.push({ id, state, level, by, hasChildren, isRepeated });
    if (!hasChildren) return;
    const inside = { level: level + 1, isHidden: isHidden || closed.has(id) };
    for (const [i, { to, label }] of links.entries())
      add(to, { ...inside, by: sayLink(model, label), path: `${id}.${i}` });
  };
  for (const state of orderStates(model))
    if (!seen.has(state)) add(state, { level: 1, by: '', path: '', isHidden: false });
  return rows;
}
