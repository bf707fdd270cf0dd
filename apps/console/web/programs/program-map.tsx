import {
  type AriaLabelConfig,
  Controls,
  type Edge,
  type Node,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  type Viewport,
} from '@xyflow/react';
import { type KeyboardEvent, memo, type RefObject, useEffect, useMemo, useRef, useState } from 'react';
import { t, useLocale } from '../i18n/text.ts';
import { useTheme } from '../theme.ts';
import { layOutMap, type MapLayout, nodeSize, placeOf } from './lay-out-map.ts';
import { MapEdges } from './map-edges.tsx';
import { type NodeParts, toEdges, toNodes } from './map-elements.ts';
import { MapOverview } from './map-overview.tsx';
import type { ProgramModel } from './read-program.ts';
import { FileNode, StateNode } from './state-node.tsx';
import '@xyflow/react/dist/base.css';

export interface ProgramMapProps extends Omit<NodeParts, 'layout' | 'isConnectable'> {
  /** Called when a line is drawn from one state to another; nothing can be drawn without it. */
  onConnect?: ((from: string, to: string) => void) | undefined;
}

const nodeTypes = { state: StateNode, file: FileNode };
/** Fewer states are in sight at once; the overview would only cover some of them. */
const overviewFrom = 20;
/** So many states are drawn even where they are out of sight: none has to be made while the map moves. */
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
  const nodes = useMemo(
    () =>
      layout
        ? toNodes(
            { model, layout, selected, found, problems, heat, edited, onSelect, isConnectable },
            drawn.current.nodes,
          )
        : [],
    [model, layout, selected, found, problems, heat, edited, onSelect, isConnectable],
  );
  const edges = useMemo(
    () => (layout ? toEdges({ model, layout, selected }, drawn.current.edges) : []),
    [model, layout, selected],
  );
  drawn.current = { nodes, edges };
  const isReady = layout !== undefined;
  useEffect(() => {
    if (!isReady) return;
    const nodes = selected === undefined ? undefined : [{ id: selected }];
    void flow.fitView({ ...fit, ...(nodes && { nodes, maxZoom: Math.max(0.8, Math.min(1, flow.getZoom())) }) });
  }, [isReady, selected, flow]);

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

/**
 * The map is a picture that is shifted and stretched while it moves; see `.map-picture`. It is drawn again once it rests at
 * another size, and on the way where so little of it was drawn that most would have to be added.
 */
function usePicture(region: RefObject<HTMLDivElement | null>) {
  const drawnAt = useRef(0);
  const draw = (zoom: number) => {
    if (drawnAt.current === zoom) return;
    drawnAt.current = zoom;
    region.current?.classList.remove('map-picture');
    requestAnimationFrame(() => requestAnimationFrame(() => region.current?.classList.add('map-picture')));
  };
  return {
    // Not at its start: that is any press of a button, and a click would be lost.
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

/** The names of the map's own buttons in the language shown. */
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

/** The layout of the newest program; the last one stays until the next is there. */
function useLayout(model: ProgramModel): MapLayout | undefined {
  const [layout, setLayout] = useState<MapLayout>();
  const shape = useMemo(
    () =>
      JSON.stringify([
        Array.from(model.states.values(), ({ name, file, links }) => [name, file, links.map(({ to }) => to)]),
      ]),
    [model],
  );
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

/** Right goes along the first way on, left back to where a state is reached from, up and down to the neighbours. */
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
