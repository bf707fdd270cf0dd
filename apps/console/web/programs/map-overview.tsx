import { useReactFlow, useStoreApi } from '@xyflow/react';
import { type PointerEvent, useEffect, useMemo, useRef } from 'react';
import { t } from '../i18n/text.ts';
import { type MapLayout, nodeSize, placeOf } from './lay-out-map.ts';

const size = { width: 200, height: 150 };
const margin = 8;

/**
 * The whole map in small, with a frame around what is in sight; dragging moves the map. Only the frame follows the map, as
 * a layer of its own: the states are not painted again.
 */
export function MapOverview({ layout }: { layout: MapLayout }) {
  const store = useStoreApi();
  const flow = useReactFlow();
  const frame = useRef<HTMLDivElement>(null);
  const { scale, left, top, path } = useMemo(() => toSmall(layout), [layout]);
  useEffect(() => {
    const follow = () => {
      const { transform, width, height } = store.getState();
      const [x, y, zoom] = transform;
      const style = frame.current?.style;
      const at = `translate(${-x / zoom / scale + left}px, ${-y / zoom / scale + top}px) scale(${width / zoom / scale / size.width}, ${height / zoom / scale / size.height})`;
      if (style && style.transform !== at) style.transform = at;
    };
    follow();
    return store.subscribe(follow);
  }, [store, scale, left, top]);

  function center({ currentTarget, clientX, clientY, buttons }: PointerEvent<HTMLDivElement>): void {
    if (buttons === 0) return;
    const box = currentTarget.getBoundingClientRect();
    const [x, y] = [(clientX - box.left - left) * scale, (clientY - box.top - top) * scale];
    void flow.setCenter(x, y, { zoom: flow.getZoom() });
  }
  return (
    <div
      className="map-overview"
      role="img"
      aria-label={t('programs.overview')}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        center(event);
      }}
      onPointerMove={center}
    >
      <svg width={size.width} height={size.height} aria-hidden="true" focusable="false">
        <path d={path} />
      </svg>
      <div className="map-frame" ref={frame} />
    </div>
  );
}

/** All states as one path, and how the map becomes as small as the overview. */
function toSmall(layout: MapLayout) {
  const places = Array.from(layout.states.keys(), (name) => placeOf(layout, name));
  const [minX, minY] = [Math.min(...places.map(({ x }) => x)), Math.min(...places.map(({ y }) => y))];
  const width = Math.max(...places.map(({ x }) => x)) + nodeSize.width - minX;
  const height = Math.max(...places.map(({ y }) => y)) + nodeSize.height - minY;
  const scale = Math.max(width / (size.width - 2 * margin), height / (size.height - 2 * margin));
  const left = (size.width - width / scale) / 2 - minX / scale;
  const top = (size.height - height / scale) / 2 - minY / scale;
  const [w, h] = [Math.max(1, nodeSize.width / scale), Math.max(1, nodeSize.height / scale)];
  const path = places.map(({ x, y }) => `M${x / scale + left},${y / scale + top}h${w}v${h}h${-w}z`).join('');
  return { scale, left, top, path };
}
