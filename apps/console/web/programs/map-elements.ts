import { type Edge, MarkerType, type Node } from '@xyflow/react';
import type { StateHeat } from './heat.ts';
import { isBack, type MapLayout, nodeSize } from './lay-out-map.ts';
import { type ProgramModel, sayIn } from './read-program.ts';
import type { StateNodeData } from './state-node.tsx';

export interface NodeParts {
  model: ProgramModel;
  layout: MapLayout;
  selected: string | undefined;
  onSelect(state: string): void;
  /** States that a search has found; undefined if nothing is searched. */
  found: ReadonlySet<string> | undefined;
  problems: ReadonlyMap<string, number>;
  heat: ReadonlyMap<string, StateHeat>;
  /** States that the draft changes. */
  edited: ReadonlySet<string>;
  isConnectable: boolean;
}

/** The states and files as nodes. One that says the same as before is the same object: only the others are drawn again. */
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

function toStateNode(parts: NodeParts, name: string): Node[] {
  const { model, layout, selected, found, problems, heat, edited, isConnectable, onSelect } = parts;
  const placed = layout.states.get(name);
  if (!placed) return [];
  const state = model.states.get(name);
  const group = layout.groupOf.get(name);
  const data: StateNodeData = {
    name,
    kind: state?.kind ?? 'outside',
    text: sayIn(model, state?.raw.text),
    isSelected: name === selected,
    isReachable: name === (selected ?? model.start),
    isDim: found !== undefined && !found.has(name),
    isStart: name === model.start,
    isEdited: edited.has(name),
    problems: problems.get(name) ?? 0,
    heat: heat.get(name),
    isConnectable,
    onSelect,
  };
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

/**
 * The ways from and to the chosen state, with their words; one for each pair, however many choices lead that way. One that
 * says the same as before is the same object.
 */
export function toEdges(
  { model, layout, selected }: Pick<NodeParts, 'model' | 'layout' | 'selected'>,
  before: readonly Edge[],
): Edge[] {
  const pairs = Array.from(layout.ways, ([from, targets]) => targets.map((to) => [from, to] as const)).flat();
  return pairs
    .filter((pair) => selected !== undefined && pair.includes(selected))
    .map(([from, to]) => {
      const ways = (model.states.get(from)?.links ?? []).filter((link) => link.to === to);
      const label = toShort(ways.map((way) => toLabel(model, way.label)).join(', '));
      const className = isBack(layout, from, to) ? 'edge-back' : '';
      const id = `${from} ${to}`;
      const last = before.find((edge) => edge.id === id && edge.label === label && edge.className === className);
      // Over the other lines. Inside the frame of a file that of the states is added: it is drawn over them, too.
      return last ?? { id, source: from, target: to, label, className, markerEnd, zIndex: 3 };
    });
}

function toShort(text: string): string {
  return text.length > 28 ? `${text.slice(0, 27)}…` : text;
}

function toLabel(model: ProgramModel, label: string): string {
  const option = /^(\d+)\. (.+)$/.exec(label);
  return option ? `${option[1]}. ${sayIn(model, option[2])}` : label;
}
