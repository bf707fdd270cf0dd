import { getBezierPath, Position, ViewportPortal } from '@xyflow/react';
import { memo } from 'react';
import { isBack, type MapLayout, nodeSize, placeOf } from './lay-out-map.ts';

/**
 * All ways of a program in one drawing, one or two paths for each state. As edges of the graph library each of them would
 * be computed again at every move of the map.
 */
export const MapEdges = memo(function MapEdges({ layout }: { layout: MapLayout }) {
  return (
    <ViewportPortal>
      <svg className="map-edges" aria-hidden="true" focusable="false">
        {Array.from(layout.ways, ([from, targets]) => {
          const { back = [], on = [] } = Object.groupBy(targets, (to) => (isBack(layout, from, to) ? 'back' : 'on'));
          return (
            <g key={from}>
              {on.length > 0 && <path d={toPath(layout, from, on)} />}
              {back.length > 0 && <path className="edge-back" d={toPath(layout, from, back)} />}
            </g>
          );
        })}
      </svg>
    </ViewportPortal>
  );
});

/** The lines from a state, each with the head of its arrow. */
function toPath(layout: MapLayout, from: string, targets: string[]): string {
  const source = placeOf(layout, from);
  return targets
    .map((to) => {
      const { x, y } = placeOf(layout, to);
      const targetY = y + nodeSize.height / 2;
      const [line] = getBezierPath({
        sourceX: source.x + nodeSize.width,
        sourceY: source.y + nodeSize.height / 2,
        sourcePosition: Position.Right,
        targetX: x,
        targetY,
        targetPosition: Position.Left,
      });
      return `${line}M${x - 8},${targetY - 5}L${x},${targetY}L${x - 8},${targetY + 5}`;
    })
    .join('');
}
