import { Handle, Position } from '@xyflow/react';
import { memo } from 'react';
import { t, useLocale } from '../i18n/text.ts';
import type { StateHeat } from './heat.ts';
import { outlineOf, titleOf } from './kinds.ts';
import { nodeSize } from './lay-out-map.ts';

export interface StateNodeData extends Record<string, unknown> {
  name: string;
  kind: string;
  text: string;
  isSelected: boolean;
  /** The one node that the tab key comes to. */
  isReachable: boolean;
  isDim: boolean;
  isStart: boolean;
  isEdited: boolean;
  problems: number;
  heat: StateHeat | undefined;
  /** A line may be drawn from it to another state. */
  isConnectable: boolean;
  onSelect(state: string): void;
}

const steps = 6;

export const StateNode = memo(function StateNode({ data }: { data: StateNodeData }) {
  const {
    name,
    kind,
    text,
    isSelected,
    isReachable,
    isDim,
    isStart,
    isEdited,
    problems,
    heat,
    isConnectable,
    onSelect,
  } = data;
  // What is kept between renders is drawn again in another language.
  useLocale();
  const title = titleOf(kind);
  const classes = ['state-node', `state-${kind}`];
  if (isSelected) classes.push('state-selected');
  if (isEdited) classes.push('state-edited');
  if (isDim) classes.push('state-dim');
  if (heat) classes.push(`heat-${Math.ceil(heat.share * steps)}`);
  return (
    <>
      <Handle type="target" position={Position.Left} isConnectable={isConnectable} />
      <button
        type="button"
        className={classes.join(' ')}
        tabIndex={isReachable ? 0 : -1}
        data-state={name}
        aria-pressed={isSelected}
        onClick={() => onSelect(name)}
      >
        <svg viewBox={`0 0 ${nodeSize.width} ${nodeSize.height}`} aria-hidden="true" focusable="false">
          <path d={outlineOf(kind)} />
        </svg>
        <span className="state-name">
          {isStart && <i className="start-dot" />}
          {name}
        </span>
        <span className="visually-hidden">
          {[title, ...(isStart ? [t('programs.isStart')] : []), ...(isEdited ? [t('programs.isChanged')] : [])].join(
            ', ',
          )}
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
