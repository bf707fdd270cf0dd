import { type Edge, Handle, MarkerType, type Node, Position } from '@xyflow/react';
import { memo } from 'react';
import { t, useLocale } from '../i18n/text.ts';
import type { StateHeat } from './heat.ts';
import { nodeSize, outlineOf, titleOf } from './kinds.ts';
import type { GroupToPlace, LayoutRequest, PlacedGroup } from './layout-worker.ts';
import { type ProgramModel, sayIn, sayLink } from './read-program.ts';

export interface NodeParts {
  model: ProgramModel;
  layout: MapLayout;
  selected: string | undefined;
  onSelect(state: string): void;
  /** Undefined if nothing is searched. */
  found: ReadonlySet<string> | undefined;
  problems: ReadonlyMap<string, number>;
  heat: ReadonlyMap<string, StateHeat>;
  edited: ReadonlySet<string>;
  isConnectable: boolean;
}

/** An unchanged node stays the same object, so that only the others are drawn again. */
export function toNodes(parts: NodeParts, before: readonly Node[]): Node[] {
  const known = new Map(before.map((node) => [node.id, node]));
  const { model, layout } = parts;
  const groups = Array.from(layout.groups, ([file, { x, y, width, height }]): Node => {
    return { id: `file:${file}`, type: 'file', position: { x, y }, width, height, data: { file }, zIndex: 0 };
  });
  const states = [...model.states.keys(), ...model.outside].flatMap((name) => toStateNode(parts, name));
  return [...groups, ...states].map((node) => {
    const last = known.get(node.id);
    return last && isSame(last, node) ? last : node;
  });
}

type StateNodeData = ReturnType<typeof toNodeData>;

function toNodeData(parts: NodeParts, name: string) {
  const { model, selected, found, problems, heat, edited, isConnectable, onSelect } = parts;
  const state = model.states.get(name);
  return {
    name,
    kind: state?.kind ?? 'outside',
    text: sayIn(model, state?.raw.text),
    isSelected: name === selected,
    /** The one node in the tab order. */
    isReachable: name === (selected ?? model.start),
    isDim: found !== undefined && !found.has(name),
    isStart: name === model.start,
    isEdited: edited.has(name),
    problems: problems.get(name) ?? 0,
    heat: heat.get(name),
    isConnectable,
    onSelect,
  };
}

function toStateNode(parts: NodeParts, name: string): Node[] {
  const { layout } = parts;
  const placed = layout.states.get(name);
  if (!placed) return [];
  const data = toNodeData(parts, name);
  const group = layout.groupOf.get(name);
  const parent = group === undefined ? {} : { parentId: `file:${group}` };
  return [{ id: name, type: 'state', position: { x: placed.x, y: placed.y }, ...nodeSize, data, zIndex: 4, ...parent }];
}

function isSame(one: Node, other: Node): boolean {
  return (
    one.parentId === other.parentId &&
    one.width === other.width &&
    one.height === other.height &&
    one.position.x === other.position.x &&
    one.position.y === other.position.y &&
    Object.keys(other.data).every((key) => Object.is(one.data[key], other.data[key]))
  );
}

const markerEnd = { type: MarkerType.ArrowClosed, width: 16, height: 16, color: 'var(--accent)' };

/** One edge for each pair of states, however many choices lead that way; an unchanged edge stays the same object. */
export function toEdges(
  { model, layout, selected }: Pick<NodeParts, 'model' | 'layout' | 'selected'>,
  before: readonly Edge[],
): Edge[] {
  const pairs = Array.from(layout.ways, ([from, targets]) => targets.map((to) => [from, to] as const)).flat();
  return pairs
    .filter((pair) => selected !== undefined && pair.includes(selected))
    .map(([from, to]) => {
      const ways = (model.states.get(from)?.links ?? []).filter((link) => link.to === to);
      const label = toShort(ways.map((way) => sayLink(model, way.label)).join(', '));
      const className = isBack(layout, from, to) ? 'edge-back' : '';
      const id = `${from} ${to}`;
      const last = before.find((edge) => edge.id === id && edge.label === label && edge.className === className);
      // Over the other lines. In the frame of a file the z-index of the states is added, so it is drawn over them, too.
      const type = isTurn(layout, from, to) ? 'smoothstep' : 'default';
      return last ?? { id, type, source: from, target: to, label, className, markerEnd, zIndex: 3 };
    });
}

const toShort = (text: string): string => (text.length > 28 ? `${text.slice(0, 27)}…` : text);

type Placed = Record<'x' | 'y' | 'width' | 'height', number>;

export interface MapLayout {
  /** Relative to their group where they are in one. */
  states: Map<string, Placed & { row: number }>;
  /** By path; empty where all states are in one file. */
  groups: Map<string, Placed>;
  groupOf: Map<string, string>;
  ways: Map<string, string[]>;
}

const padding = { top: 44, side: 20 };
const gap = 36;
const aspectRatio = 1.7;

let worker: Worker | undefined;
let requests = 0;

/** Works in a worker, so that the page stays usable. */
export async function layOutMap(model: ProgramModel): Promise<MapLayout> {
  const groupOf = findGroups(model);
  const files = [...new Set(groupOf.values())];
  const placed = await placeGroups(files.map((file) => toGroup(model, groupOf, file)));
  const states: MapLayout['states'] = new Map();
  for (const [name, x, y, row] of placed.flatMap((group) => group.states))
    states.set(name, { x: x + padding.side, y: y + padding.top, row, ...nodeSize });
  const ways = new Map<string, string[]>();
  for (const { name, links } of model.states.values()) {
    const targets = new Set(links.map(({ to }) => to).filter((to) => states.has(to)));
    ways.set(name, [...targets]);
  }
  if (files.length <= 1) return { states, ways, groups: new Map(), groupOf: new Map() };
  return { states, ways, groups: toRows(files, placed), groupOf };
}

export function placeOf({ states, groups, groupOf }: MapLayout, name: string): { x: number; y: number } {
  const [state, group] = [states.get(name), groups.get(groupOf.get(name) ?? '')];
  return { x: (state?.x ?? 0) + (group?.x ?? 0), y: (state?.y ?? 0) + (group?.y ?? 0) };
}

const rowsDown = ({ states, groupOf }: MapLayout, from: string, to: string): number =>
  groupOf.get(from) === groupOf.get(to) ? (states.get(to)?.row ?? 0) - (states.get(from)?.row ?? 0) : 0;

export const isTurn = (layout: MapLayout, from: string, to: string): boolean => rowsDown(layout, from, to) > 0;

export function isBack(layout: MapLayout, from: string, to: string): boolean {
  const rows = rowsDown(layout, from, to);
  return rows === 0 ? placeOf(layout, to).x <= placeOf(layout, from).x : rows < 0;
}

function placeGroups(groups: GroupToPlace[]): Promise<PlacedGroup[]> {
  worker ??= new Worker(new URL('./layout-worker.ts', import.meta.url), { type: 'module' });
  const on = worker;
  requests += 1;
  const request: LayoutRequest = { id: requests, node: nodeSize, groups };
  return new Promise((resolve) => {
    on.addEventListener('message', function take({ data }: MessageEvent<{ id: number; groups: PlacedGroup[] }>) {
      if (data.id !== request.id) return;
      on.removeEventListener('message', take);
      resolve(data.groups);
    });
    on.postMessage(request);
  });
}

/** The file of the start is first; inherited states are with the first state that leads to them. */
function findGroups({ states, start, outside }: ProgramModel): Map<string, string> {
  const first = states.get(start ?? '')?.file;
  const inOrder = [...states.values()].sort((one, other) => Number(other.file === first) - Number(one.file === first));
  const groupOf = new Map(inOrder.map(({ name, file }) => [name, file]));
  for (const name of outside) {
    const from = inOrder.find(({ links }) => links.some(({ to }) => to === name));
    groupOf.set(name, from?.file ?? first ?? 'program.yaml');
  }
  return groupOf;
}

function toGroup({ states }: ProgramModel, groupOf: ReadonlyMap<string, string>, file: string): GroupToPlace {
  const names = [...groupOf.keys()].filter((name) => groupOf.get(name) === file);
  const inside = new Set(names);
  const edges = names.flatMap((name) =>
    (states.get(name)?.links ?? [])
      .filter(({ to }) => inside.has(to) && to !== name)
      .map(({ to }): [string, string] => [name, to]),
  );
  return { names, edges };
}

function toRows(files: string[], placed: PlacedGroup[]): Map<string, Placed> {
  const sizes = placed.map(({ width, height }) => ({
    width: width + 2 * padding.side,
    height: height + padding.top + padding.side,
  }));
  const area = sizes.reduce((sum, { width, height }) => sum + width * height, 0);
  const widest = Math.max(Math.sqrt(area * aspectRatio), ...sizes.map(({ width }) => width));
  const groups = new Map<string, Placed>();
  let [x, y, rowHeight] = [0, 0, 0];
  for (const [i, { width, height }] of sizes.entries()) {
    if (x > 0 && x + width > widest) [x, y, rowHeight] = [0, y + rowHeight + gap, 0];
    groups.set(files[i] ?? '', { x, y, width, height });
    x += width + gap;
    rowHeight = Math.max(rowHeight, height);
  }
  return groups;
}

const steps = 6;

export const StateNode = memo(function StateNode({ data }: { data: StateNodeData }) {
  const { name, kind, text, isSelected, isStart, isEdited, problems, heat, isConnectable } = data;
  // A memoised component must be drawn again in another language.
  useLocale();
  const title = titleOf(kind);
  const classes = ['state-node', `state-${kind}`];
  if (isSelected) classes.push('state-selected');
  if (isEdited) classes.push('state-edited');
  if (data.isDim) classes.push('state-dim');
  if (heat) classes.push(`heat-${Math.ceil(heat.share * steps)}`);
  return (
    <>
      <Handle type="target" position={Position.Left} isConnectable={isConnectable} />
      <button
        type="button"
        className={classes.join(' ')}
        tabIndex={data.isReachable ? 0 : -1}
        data-state={name}
        aria-pressed={isSelected}
        onClick={() => data.onSelect(name)}
      >
        <svg viewBox={`0 0 ${nodeSize.width} ${nodeSize.height}`} aria-hidden="true" focusable="false">
          <path d={outlineOf(kind)} />
        </svg>
        <span className="state-name">
          {isStart && <i className="start-dot" />}
          {name}
        </span>
        <span className="visually-hidden">
          {[title, isStart && t('programs.isStart'), isEdited && t('programs.isChanged')].filter(Boolean).join(', ')}
        </span>
        <span className="state-text" dir="auto">
          {text || title}
        </span>
        {heat && <span className="state-heat numbers">{heat.label()}</span>}
        {problems > 0 && (
          <span className="state-problems numbers">
            <span aria-hidden="true">{problems}</span>
            <span className="visually-hidden">{t('programs.problems', { count: problems })}</span>
          </span>
        )}
      </button>
      <Handle type="source" position={Position.Right} isConnectable={isConnectable} />
    </>
  );
});

export const FileNode = memo(function FileNode({ data }: { data: { file?: string } }) {
  return <div className="file-node">{data.file}</div>;
});
