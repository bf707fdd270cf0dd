import {
  type AriaLabelConfig,
  Background,
  Controls,
  type Edge,
  MarkerType,
  MiniMap,
  type Node,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
} from '@xyflow/react';
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react';
import { t, useLocale } from '../i18n/text.ts';
import { useTheme } from '../theme.ts';
import type { StateHeat } from './heat.ts';
import { layOutMap, type MapLayout, nodeSize } from './lay-out-map.ts';
import type { ProgramModel } from './read-program.ts';
import { sayIn } from './read-program.ts';
import { FileNode, StateNode, type StateNodeData } from './state-node.tsx';
import '@xyflow/react/dist/base.css';

export interface ProgramMapProps {
  model: ProgramModel;
  selected: string | undefined;
  onSelect(state: string): void;
  /** States that a search has found; undefined if nothing is searched. */
  found: ReadonlySet<string> | undefined;
  problems: ReadonlyMap<string, number>;
  heat: ReadonlyMap<string, StateHeat>;
  /** States that the draft changes. */
  edited: ReadonlySet<string>;
  /** Called when a line is drawn from one state to another; nothing can be drawn without it. */
  onConnect?: ((from: string, to: string) => void) | undefined;
}

const nodeTypes = { state: StateNode, file: FileNode };
/** Fewer states are in sight at once; the overview would only cover some of them. */
const overviewFrom = 20;
const fit = { padding: 0.12, maxZoom: 1 };

export function ProgramMap(props: ProgramMapProps) {
  return (
    <ReactFlowProvider>
      <MapInside {...props} />
    </ReactFlowProvider>
  );
}

function MapInside({ onConnect, ...props }: ProgramMapProps) {
  const { model, selected, onSelect, found, problems, heat, edited } = props;
  const isConnectable = onConnect !== undefined;
  const theme = useTheme();
  const layout = useLayout(model);
  const flow = useReactFlow();
  const region = useRef<HTMLDivElement>(null);
  const nodes = useMemo(
    () => (layout ? toNodes({ model, layout, selected, found, problems, heat, edited, onSelect, isConnectable }) : []),
    [model, layout, selected, found, problems, heat, edited, onSelect, isConnectable],
  );
  const edges = useMemo(() => (layout ? toEdges(model, layout, selected) : []), [model, layout, selected]);
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
        onMoveStart={() => region.current?.classList.add('map-moving')}
        onMoveEnd={() => region.current?.classList.remove('map-moving')}
        connectionRadius={nodeSize.width / 2}
        onConnect={({ source, target }) => onConnect?.(source, target)}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        onlyRenderVisibleElements
        aria-label={t('programs.mapOf', { name: model.name })}
        ariaLabelConfig={useMapLabels()}
      >
        <Background gap={22} />
        <Controls showInteractive={false} fitViewOptions={fit} />
        {model.states.size >= overviewFrom && (
          <MiniMap pannable zoomable ariaLabel={t('programs.overview')} nodeClassName={toMiniClass} />
        )}
      </ReactFlow>
      {!isReady && <p className="map-wait quiet">{t('programs.layingOut', { count: model.states.size })}</p>}
    </div>
  );
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

const toMiniClass = (node: Node) => (node.type === 'file' ? 'mini-file' : 'mini-state');

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

type Parts = ProgramMapProps & { layout: MapLayout; isConnectable: boolean };

function toNodes({ model, layout, selected, found, problems, heat, edited, onSelect, isConnectable }: Parts): Node[] {
  const groups = Array.from(layout.groups, ([file, { x, y, width, height }]): Node => {
    return { id: `file:${file}`, type: 'file', position: { x, y }, width, height, data: { file }, zIndex: 0 };
  });
  const names = [...model.states.keys(), ...model.outside];
  const states = names.flatMap((name): Node[] => {
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
    return [
      { id: name, type: 'state', position: { x: placed.x, y: placed.y }, ...nodeSize, data, zIndex: 4, ...parent },
    ];
  });
  return [...groups, ...states];
}

/** One edge for each pair of states, however many choices lead that way. */
function toEdges(model: ProgramModel, layout: MapLayout, selected: string | undefined): Edge[] {
  return Array.from(model.states.values(), ({ name, links }) =>
    Array.from(
      Map.groupBy(links, ({ to }) => to),
      ([to, ways]): Edge[] => {
        if (!layout.states.has(to)) return [];
        const isBack = placeOf(layout, to).x <= placeOf(layout, name).x;
        const isNear = name === selected || to === selected;
        const label = ways.map(({ label }) => toLabel(model, label)).join(', ');
        return [
          {
            id: `${name} ${to}`,
            source: name,
            target: to,
            ...(isNear && label !== '' && { label: toShort(label) }),
            className: `${isBack ? 'edge-back' : 'edge-on'}${isNear ? ' edge-near' : ''}`,
            markerEnd: { type: MarkerType.ArrowClosed, width: 16, height: 16 },
            // Added to that of the nodes: only what concerns the chosen state is drawn over them.
            zIndex: isNear ? 1 : -1,
          },
        ];
      },
    ).flat(),
  ).flat();
}

function toShort(text: string): string {
  return text.length > 28 ? `${text.slice(0, 27)}…` : text;
}

function toLabel(model: ProgramModel, label: string): string {
  const option = /^(\d+)\. (.+)$/.exec(label);
  return option ? `${option[1]}. ${sayIn(model, option[2])}` : label;
}

function placeOf({ states, groups, groupOf }: MapLayout, name: string): { x: number; y: number } {
  const [state, group] = [states.get(name), groups.get(groupOf.get(name) ?? '')];
  return { x: (state?.x ?? 0) + (group?.x ?? 0), y: (state?.y ?? 0) + (group?.y ?? 0) };
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
