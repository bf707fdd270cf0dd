// Runs in a worker.
import { Graph, layout } from '@dagrejs/dagre';

export interface GroupToPlace {
  names: string[];
  edges: [from: string, to: string][];
}

export interface PlacedGroup {
  width: number;
  height: number;
  /** The upper left corner of each state. */
  states: [name: string, x: number, y: number][];
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
  const placed = names.map((name): [string, number, number] => {
    const { x = 0, y = 0 } = graph.node(name) as { x?: number; y?: number };
    return [name, x - width / 2, y - height / 2];
  });
  return {
    width: Math.max(...placed.map(([, x]) => x)) + width,
    height: Math.max(...placed.map(([, , y]) => y)) + height,
    states: placed,
  };
}
