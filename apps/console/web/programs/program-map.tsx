import '@xyflow/react/dist/base.css';
import {
  type AriaLabelConfig,
  Controls,
  type Edge,
  getBezierPath,
  getSmoothStepPath,
  type Node,
  Position,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  useStoreApi,
  type Viewport,
  ViewportPortal,
} from '@xyflow/react';
import {
  type KeyboardEvent,
  memo,
  type PointerEvent,
  type RefObject,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { t, useLocale } from '../i18n/text.ts';
import { useTheme } from '../theme.ts';
import { nodeSize } from './kinds.ts';
import {
  FileNode,
  isBack,
  isTurn,
  layOutMap,
  type MapLayout,
  type NodeParts,
  placeOf,
  StateNode,
  toEdges,
  toNodes,
} from './map-elements.tsx';
import type { ProgramModel } from './read-program.ts';

interface ProgramMapProps extends Omit<NodeParts, 'layout' | 'isConnectable'> {
  onConnect?: ((from: string, to: string) => void) | undefined;
}

const nodeTypes = { state: StateNode, file: FileNode };
/** Fewer states are in sight at once; an overview would only cover some of them. */
const overviewFrom = 20;
/** Up to so many states are drawn even out of sight: none has to be made while the map moves. */
const drawnWhole = 500;
const fit = { padding: 0.12, maxZoom: 1 };

export const ProgramMap = memo(function ProgramMap(props: ProgramMapProps) {
  return (
    <ReactFlowProvider>
      <MapInside {...props} />
    </ReactFlowProvider>
  );
});

function MapInside({ onConnect, ...props }: ProgramMapProps) {
  const { model, selected, onSelect, found, problems, heat, edited } = props;
  const isConnectable = onConnect !== undefined;
  const theme = useTheme();
  const layout = useLayout(model);
  const flow = useReactFlow();
  const region = useRef<HTMLDivElement>(null);
  const drawn = useRef<{ nodes: Node[]; edges: Edge[] }>({ nodes: [], edges: [] });
  const nodes = useMemo(() => {
    if (!layout) return [];
    const parts = { model, layout, selected, found, problems, heat, edited, onSelect, isConnectable };
    return toNodes(parts, drawn.current.nodes);
  }, [model, layout, selected, found, problems, heat, edited, onSelect, isConnectable]);
  const edges = useMemo(
    () => (layout ? toEdges({ model, layout, selected }, drawn.current.edges) : []),
    [model, layout, selected],
  );
  drawn.current = { nodes, edges };
  const isReady = layout !== undefined;
  // A new state is selected before it has its place.
  const isPlaced = isReady && (selected === undefined || layout.states.has(selected));
  useEffect(() => {
    if (!isPlaced) return;
    const nodes = selected === undefined ? undefined : [{ id: selected }];
    void flow.fitView({ ...fit, ...(nodes && { nodes, maxZoom: Math.max(0.8, Math.min(1, flow.getZoom())) }) });
  }, [isPlaced, selected, flow]);

  function move(event: KeyboardEvent): void {
    const next = layout && findNext(model, layout, { from: selected ?? model.start, key: event.key });
    if (next === undefined) return;
    event.preventDefault();
    onSelect(next);
    requestAnimationFrame(() =>
      region.current?.querySelector<HTMLElement>(`[data-state="${CSS.escape(next)}"]`)?.focus(),
    );
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the arrow keys move between the buttons inside
    <div
      className={isConnectable ? 'program-map map-connectable' : 'program-map'}
      ref={region}
      // Coordinates run from left to right in every language.
      dir="ltr"
      onKeyDown={move}
      data-ready={isReady}
    >
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        colorMode={theme}
        minZoom={0.08}
        maxZoom={1.6}
        fitView
        fitViewOptions={fit}
        nodesDraggable={false}
        nodesConnectable={isConnectable}
        {...usePicture(region)}
        connectionRadius={nodeSize.width / 2}
        onConnect={({ source, target }) => onConnect?.(source, target)}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        onlyRenderVisibleElements={model.states.size > drawnWhole}
        aria-label={t('programs.mapOf', { name: model.name })}
        ariaLabelConfig={useMapLabels()}
      >
        {layout && <MapEdges layout={layout} />}
        <Controls showInteractive={false} fitViewOptions={fit} />
      </ReactFlow>
      {layout && model.states.size >= overviewFrom && <MapOverview layout={layout} />}
      {!isReady && <p className="map-wait quiet">{t('programs.layingOut', { count: model.states.size })}</p>}
    </div>
  );
}

/** The map is a stretched picture while it moves (`.map-picture`); it is drawn again at rest, or at half its size. */
function usePicture(region: RefObject<HTMLDivElement | null>) {
  const drawnAt = useRef(0);
  const draw = (zoom: number) => {
    if (drawnAt.current === zoom) return;
    drawnAt.current = zoom;
    region.current?.classList.remove('map-picture');
    requestAnimationFrame(() => requestAnimationFrame(() => region.current?.classList.add('map-picture')));
  };
  return {
    // Not when a move starts: any press of a button starts one, and its click would be lost.
    onMove: (_event: unknown, { zoom }: Viewport) => {
      region.current?.classList.add('map-moving');
      if (zoom < drawnAt.current / 2) draw(zoom);
    },
    onMoveEnd: (_event: unknown, { zoom }: Viewport) => {
      region.current?.classList.remove('map-moving');
      draw(zoom);
    },
  };
}

function useMapLabels(): Partial<AriaLabelConfig> {
  const locale = useLocale();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the texts are those of the language
  return useMemo(
    () => ({
      'controls.ariaLabel': t('programs.controls'),
      'controls.zoomIn.ariaLabel': t('programs.zoomIn'),
      'controls.zoomOut.ariaLabel': t('programs.zoomOut'),
      'controls.fitView.ariaLabel': t('programs.fitView'),
    }),
    [locale],
  );
}

/** The last layout stays until the next is there. */
function useLayout(model: ProgramModel): MapLayout | undefined {
  const [layout, setLayout] = useState<MapLayout>();
  const shape = useMemo(() => {
    const states = Array.from(model.states.values(), ({ name, file, links }) => [
      name,
      file,
      links.map(({ to }) => to),
    ]);
    return JSON.stringify(states);
  }, [model]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a text that changes moves nothing
  useEffect(() => {
    let isCurrent = true;
    void layOutMap(model).then((next) => isCurrent && setLayout(next));
    return () => {
      isCurrent = false;
    };
  }, [shape]);
  return layout;
}

/** Right goes along the first way on, left back, up and down to the neighbours. */
function findNext(model: ProgramModel, layout: MapLayout, { from, key }: { from: string | undefined; key: string }) {
  if (from === undefined) return undefined;
  if (key === 'ArrowRight')
    return model.states.get(from)?.links.find(({ to }) => to !== from && layout.states.has(to))?.to;
  if (key === 'ArrowLeft')
    return [...model.states.values()].find(({ name, links }) => name !== from && links.some(({ to }) => to === from))
      ?.name;
  if (key !== 'ArrowUp' && key !== 'ArrowDown') return undefined;
  const sign = key === 'ArrowDown' ? 1 : -1;
  const here = placeOf(layout, from);
  const others = [...layout.states.keys()]
    .map((name) => ({ name, ...placeOf(layout, name) }))
    .map(({ name, x, y }) => ({ name, across: Math.abs(x - here.x), along: sign * (y - here.y) }))
    .filter(({ name, along, across }) => name !== from && along > 0 && across < nodeSize.width * 2)
    .sort((one, other) => one.along + 2 * one.across - other.along - 2 * other.across);
  return others[0]?.name;
}

/** One drawing for all ways: as edges of the graph library each would be computed again at every move of the map. */
const MapEdges = memo(function MapEdges({ layout }: { layout: MapLayout }) {
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

function toPath(layout: MapLayout, from: string, targets: string[]): string {
  const source = placeOf(layout, from);
  return targets
    .map((to) => {
      const { x, y } = placeOf(layout, to);
      const targetY = y + nodeSize.height / 2;
      const draw = isTurn(layout, from, to) ? getSmoothStepPath : getBezierPath;
      const [line] = draw({
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

const size = { width: 200, height: 150 };
const margin = 8;

/** Dragging moves the map. Only the frame follows it, as a layer of its own: the states are not painted again. */
function MapOverview({ layout }: { layout: MapLayout }) {
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
