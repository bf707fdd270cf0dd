import { Graph, layout } from '@dagrejs/dagre';

export interface GroupToPlace {
  names: string[];
  edges: [from: string, to: string][];
}

export interface PlacedGroup {
  width: number;
  height: number;
  /** The upper left corner of each state, and the row of a chain that is too long for one. */
  states: [name: string, x: number, y: number, row: number][];
}

export interface LayoutRequest {
  id: number;
  node: { width: number; height: number };
  groups: GroupToPlace[];
}

addEventListener('message', ({ data }: MessageEvent<LayoutRequest>) => {
  postMessage({ id: data.id, groups: data.groups.map((group) => place(group, data.node)) });
});

function place({ names, edges }: GroupToPlace, { width, height }: LayoutRequest['node']): PlacedGroup {
  const graph = new Graph({ multigraph: false });
  graph.setGraph({ rankdir: 'LR', nodesep: 20, ranksep: 72 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const name of names) graph.setNode(name, { width, height });
  for (const [from, to] of edges) graph.setEdge(from, to);
  layout(graph);
  const placed = names.map((name) => {
    const { x = 0, y = 0 } = graph.node(name) as { x?: number; y?: number };
    return { name, x: x - width / 2, y: y - height / 2 };
  });
  const bottom = Math.max(...placed.map(({ y }) => y)) + height;
  const columns = [...new Set(placed.map(({ x }) => x))].sort((one, other) => one - other);
  const perRow = Math.ceil(columns.length / countRows((columns.at(-1) ?? 0) + width, bottom + rowGap));
  const states = placed.map(({ name, x, y }): PlacedGroup['states'][number] => {
    const row = Math.floor(columns.indexOf(x) / perRow);
    return [name, x - (columns[row * perRow] ?? 0), y + row * (bottom + rowGap), row];
  });
  return {
    width: Math.max(...states.map(([, x]) => x)) + width,
    height: Math.max(...states.map(([, , y]) => y)) + height,
    states,
  };
}

const rowGap = 52;
const aspectRatio = 1.7;

/** So many that the whole is about as wide as a window; a short chain stays one row. */
function countRows(width: number, height: number): number {
  return Math.max(1, Math.floor(Math.sqrt(width / height / aspectRatio)));
}
