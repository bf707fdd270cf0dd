import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { defaultHighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint';
import { searchKeymap } from '@codemirror/search';
import { EditorState } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { useEffect, useRef } from 'react';
import { t } from '../i18n/text.ts';
import { SelectField } from '../ui/controls.tsx';
import type { Problem, ProgramFiles } from './program-api.ts';

interface YamlViewProps {
  files: ProgramFiles;
  file: string;
  problems: Problem[];
  isReadOnly: boolean;
  onFile(file: string): void;
  onChange(files: ProgramFiles): void;
}

export function YamlView({ files, file, problems, isReadOnly, onFile, onChange }: YamlViewProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | undefined>(undefined);
  const latest = useRef({ files, file, onChange });
  latest.current = { files, file, onChange };
  const text = files[file] ?? '';

  // biome-ignore lint/correctness/useExhaustiveDependencies: the editor lives as long as its file is shown
  useEffect(() => {
    const root = host.current?.shadowRoot ?? host.current?.attachShadow({ mode: 'open' });
    if (!root) return undefined;
    // In a shadow root its styles are constructed sheets, which the page's policy allows.
    const editor = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: text,
        extensions: [
          lineNumbers(),
          lintGutter(),
          history(),
          yaml(),
          syntaxHighlighting(defaultHighlightStyle),
          keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap, indentWithTab]),
          EditorView.contentAttributes.of({ 'aria-label': file, tabindex: '0' }),
          EditorView.editable.of(!isReadOnly),
          EditorState.readOnly.of(isReadOnly),
          EditorView.updateListener.of((update) => {
            const { files, file, onChange } = latest.current;
            const next = update.state.doc.toString();
            if (update.docChanged && next !== files[file]) onChange({ ...files, [file]: next });
          }),
          EditorView.theme({ '&': { height: '100%', fontSize: '13px' }, '.cm-scroller': { overflow: 'auto' } }),
        ],
      }),
    });
    view.current = editor;
    return () => editor.destroy();
  }, [file, isReadOnly]);

  useEffect(() => {
    const editor = view.current;
    if (!editor || editor.state.doc.toString() === text) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } });
  }, [text]);

  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const { doc } = editor.state;
    const marks = problems
      .filter((problem) => problem.file === file && problem.line <= doc.lines)
      .map(({ line, message }): Diagnostic => ({ ...rangeOf(doc.line(line)), severity: 'error', message }));
    editor.dispatch(setDiagnostics(editor.state, marks));
  }, [problems, file]);

  return (
    <div className="yaml-view">
      <SelectField label={t('programs.file')} value={file} onChange={onFile} options={Object.keys(files)} />
      <div className="yaml-host" dir="ltr" ref={host} />
    </div>
  );
}

const rangeOf = ({ from, to }: { from: number; to: number }) => ({ from, to });
