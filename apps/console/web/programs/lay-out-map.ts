import type { GroupToPlace, LayoutRequest, PlacedGroup } from './layout-worker.ts';
import type { ProgramModel } from './read-program.ts';

export const nodeSize = { width: 208, height: 68 };

export interface Placed {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface MapLayout {
  /** Relative to their group where they are in one. */
  states: Map<string, Placed>;
  /** Files with states, by path; none where all states are in one file. */
  groups: Map<string, Placed>;
  groupOf: Map<string, string>;
  /** Where each state leads, every target once. */
  ways: Map<string, string[]>;
}

const padding = { top: 44, side: 20 };
const gap = 36;
/** Groups beside each other are about as wide as a window. */
const aspectRatio = 1.7;

let worker: Worker | undefined;
let requests = 0;

/** Places the states, in a worker: the page stays usable meanwhile. */
export async function layOutMap(model: ProgramModel): Promise<MapLayout> {
  const groupOf = findGroups(model);
  const files = [...new Set(groupOf.values())];
  const placed = await placeGroups(files.map((file) => toGroup(model, groupOf, file)));
  const isGrouped = files.length > 1;
  const layout: MapLayout = {
    states: new Map(),
    groups: new Map(),
    groupOf: isGrouped ? groupOf : new Map(),
    ways: new Map(),
  };
  for (const { states } of placed)
    for (const [name, x, y] of states)
      layout.states.set(name, { x: x + padding.side, y: y + padding.top, ...nodeSize });
  for (const { name, links } of model.states.values())
    layout.ways.set(
      name,
      [...new Set(links.map(({ to }) => to))].filter((to) => layout.states.has(to)),
    );
  if (isGrouped) layout.groups = toRows(files, placed);
  return layout;
}

/** Where a state is on the map. */
export function placeOf({ states, groups, groupOf }: MapLayout, name: string): { x: number; y: number } {
  const [state, group] = [states.get(name), groups.get(groupOf.get(name) ?? '')];
  return { x: (state?.x ?? 0) + (group?.x ?? 0), y: (state?.y ?? 0) + (group?.y ?? 0) };
}

/** A way that leads to the left, against the direction in which the map is read. */
export function isBack(layout: MapLayout, from: string, to: string): boolean {
  return placeOf(layout, to).x <= placeOf(layout, from).x;
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

/** The file of each state, that of the start first; inherited states are with the first state that leads to them. */
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
